"""What is only shown: lists, histories, explanations, figures.  Nothing here writes."""
