"""Settings: one model for each part, read here and passed down as plain values.

A value comes from the environment (`HEADWAY_SCHEDULER_PARALLELISM=64`), else from
the TOML file that `HEADWAY_CONFIG` names (default `$HEADWAY_HOME/headway.toml`,
section `[scheduler]`), else from the model's default.  docs/settings.md is made of
these models.
"""
