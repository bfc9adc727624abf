"""What attempts of tasks have left: their logs, and their XComs."""
