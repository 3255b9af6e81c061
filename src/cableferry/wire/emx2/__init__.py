"""The EMX2 HPC protocol as words and bodies, shared by server, daemon and command line."""

VERSION = "2025-01"
PREFIX = "/api/hpc"
