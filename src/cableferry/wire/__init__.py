"""The words and bodies of each protocol, shared by the server, the daemon and the command line."""
