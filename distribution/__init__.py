"""What stands around a release: wheel and sdist, the bill of materials, oldest dependencies."""
