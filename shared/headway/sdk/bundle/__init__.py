"""Which files of its bundle a DAG file needs: by its imports, and as it declares."""
