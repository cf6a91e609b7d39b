"""The books: entries nobody can change, caps that hold, sessions, stores. Trusted."""
