"""Who may do what in the database: roles, grants, guards, migration, and how a service logs in."""
