"""The worker's transactions: claim, renew, report, code, XComs, secrets."""
