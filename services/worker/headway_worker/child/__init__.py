"""What runs inside the children of a worker; it knows no database."""
