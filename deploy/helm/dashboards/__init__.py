"""The dashboards of the chart, as code: `make chart-files` writes their JSON."""
