"""Everything that learns, and all that needs JAX: SR-PAC, decoders, networks."""
