"""What workers write: attempts, leases, outcomes, XComs, callbacks and notifications."""
