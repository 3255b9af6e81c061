"""The server put together, with its asynchronous edge."""
