"""Store what files define, and put versions in force."""
