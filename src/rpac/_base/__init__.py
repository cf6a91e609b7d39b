"""What every room rests on: checks, types, hashes, sealed values, text. Trusted."""
