"""The pages of the web UI: rendered here, readable and usable without a script."""
