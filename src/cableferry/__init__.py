"""Cableferry runs work on compute that accepts no inbound connection."""

__version__ = "0.1.0"
