"""The container worker: it runs each job's image in a container, with a folder that it shares with the server."""
