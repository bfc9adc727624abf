"""What benchmarks share: services, bulk rows, floors, meters, tables of results, comparison."""
