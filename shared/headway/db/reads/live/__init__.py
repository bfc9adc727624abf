"""What live events tell of a subject, each by one statement.  Nothing here writes.

Every function takes `bundles`: the bundles whose DAGs the reader may see, or None for all of them.
It returns None for a subject that is not there, or is not there for the reader.
"""
