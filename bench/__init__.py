"""Benchmarks: each sets itself up, prints a table with its floor and ends with one JSON object."""
