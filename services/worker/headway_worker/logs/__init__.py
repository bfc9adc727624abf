"""Log files of attempts: written, bounded, copied, removed."""
