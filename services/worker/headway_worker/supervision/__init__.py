"""What supervises any child: claims, leases, reports, executions, fork servers."""
