"""What requests and answers hold: their forms, with examples."""
