"""The decisions of the scheduler: pure functions over snapshots."""
