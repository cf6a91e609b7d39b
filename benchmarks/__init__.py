"""The long runs: statistical, under load, under attack. `make bench` runs them all."""
