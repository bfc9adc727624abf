"""What the benchmark of the pages needs: a real browser, and data of the sizes that count."""
