"""Lists page by page, each from where the page before it has ended.  Nothing here writes.

Every function takes `bundles`: the bundles whose DAGs the reader may see, or None for all of them.
The statement itself applies it, so what it does not name is not there for the reader.
"""
