"""A demonstration on made-up people."""
