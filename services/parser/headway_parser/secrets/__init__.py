"""What DAG files read of connections and variables while they are parsed, by bundles' grants."""
