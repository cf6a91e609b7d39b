"""Proposers of noise: closed forms, the equilibrium, baselines. Untrusted by design."""
