"""The line that a request came over, where ASGI does not reach: what was not read yet, what is said meanwhile."""

from collections.abc import Mapping

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

    def cut(self) -> None:
        """Hear no more of whoever is at the other end."""
        self._cycle.disconnected = True
        self._cycle.message_event.set()
        self._cycle.transport.close()

    def inform(self, headers: Mapping[str, str]) -> None:
        """Say something before the answer, to a client that knows of interim answers."""
        cycle = self._cycle
        if cycle.disconnected or cycle.response_started or cycle.scope["http_version"] != "1.1":
            return
        lines = ["HTTP/1.1 104 Upload Resumption Supported", *(f"{name}: {value}" for name, value in headers.items())]
        cycle.transport.write("\r\n".join([*lines, "", ""]).encode())
