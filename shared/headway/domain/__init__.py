"""Pure types of the domain: specifications, states and their moves, trigger rules, errors."""
