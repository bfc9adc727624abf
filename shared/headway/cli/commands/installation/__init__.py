"""Commands on the database, services, pools, bundles, settings."""
