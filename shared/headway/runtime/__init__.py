"""What every daemon needs: clock, loop, children, settings, logs.  Knows no SQL."""
