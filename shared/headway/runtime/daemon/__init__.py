"""What a long-running process is built on: clock, bell, loop, signals, a bound on CPU time."""
