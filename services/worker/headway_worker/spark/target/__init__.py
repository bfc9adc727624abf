"""Where the Spark of a connection is."""
