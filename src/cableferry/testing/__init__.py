"""Simulators that tests and users run in place of the real parts."""
