"""Time zones, cron patterns and durations: what timetables compute with."""
