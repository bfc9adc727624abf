"""The only SQL of Headway: schema, migrations, and one module per table."""
