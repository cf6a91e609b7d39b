"""The documentation site: what is gathered, executed and checked before it is published."""
