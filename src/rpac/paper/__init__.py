"""What the paper adds around the line: gap corrections and its experiments."""
