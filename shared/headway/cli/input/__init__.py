"""What commands take in: typed values, a database session, a confirmation, Ctrl-C."""
