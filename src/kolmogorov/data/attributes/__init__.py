"""What is known of users and of items beside answers: frames of attributes, as blocks of numbers."""
