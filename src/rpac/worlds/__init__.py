"""The secret and what a function says about it: sources, tables, runs, sealed outputs. Trusted."""
