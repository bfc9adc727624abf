"""What runs inside the child that parses a file; it knows no database."""
