"""What commands show: tables, drawings, progress, logs, errors."""
