"""How one machine's services are launched: standalone, demo, forked services."""
