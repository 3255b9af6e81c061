"""The line that a request came over, where ASGI does not reach: what of it was not read yet."""

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle


class Line:
    """One request's end of its connection."""

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle

    @property
    def is_held_back(self) -> bool:
        """Whether the client waits to be asked for its body: once it is refused, it may send that or not."""
        return bool(self._cycle.waiting_for_100_continue and self._cycle.more_body)

    def unread(self) -> bytes:
        """What of the body had come, and nobody was given, when the line broke."""
        rest = bytes(self._cycle.body)
        self._cycle.body.clear()
        return rest
