"""What operators do: pools, bundles, workers, secrets, status."""
