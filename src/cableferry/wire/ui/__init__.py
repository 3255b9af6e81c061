"""The words of our own web pages and command line: accounts, sessions and tokens."""

PREFIX = "/api/ui"
