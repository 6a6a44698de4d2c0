"""The peers, by name; each module is imported in the environment of its peer only."""
