"""Progress and cost of Spark: from the event log, and from the REST API of a driver."""
