"""Object stores: paths in them, and how they are reached by connections."""
