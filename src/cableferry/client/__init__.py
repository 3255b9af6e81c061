"""Typed calls to a server, one file per contract."""
