"""From a law to a guarantee: references, bounds with their proofs, certificates. Trusted."""
