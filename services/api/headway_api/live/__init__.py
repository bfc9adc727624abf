"""Live events: what clients watch is looked for once, and only changes are sent to them."""
