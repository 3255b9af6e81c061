"""Rows to core values and back; the only room with SQL."""
