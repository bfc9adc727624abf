"""Figures for charts: cells of a grid, layers of a graph, the critical path of a run."""
