"""The only SQL of Headway: schema, migrations, and one folder for each role that writes."""
