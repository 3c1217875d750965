"""What every model can do, written once: ids to rows, predictions, recommendations, tables in."""
