"""The pages of DAGs: list, grid, graph, calendar, versions."""
