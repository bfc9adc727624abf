"""The pages of the installation: home, pools, processes, backfills, journal."""
