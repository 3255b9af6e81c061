"""Log lines of a worker started by hand, on standard error."""

import contextlib
import io
import logging
import os
import sys
from typing import TextIO, cast

import structlog


def begin(as_json: bool, is_verbose: bool = True) -> None:
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG if is_verbose else logging.INFO),
        processors=[structlog.processors.add_log_level, structlog.processors.TimeStamper("iso"), renderer],
        logger_factory=structlog.PrintLoggerFactory(cast(TextIO, _Unfailing(sys.stderr))),
    )


class _Unfailing(io.TextIOBase):
    """Lines that a full disk or a reader who has gone does not take are lost, and nobody falls over them."""

    def __init__(self, behind: TextIO) -> None:
        self._behind = behind

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError):
            self._behind.flush()
            # past its buffer, or the interpreter would try it again at its end
            os.write(self._behind.fileno(), text.encode(errors="replace"))
        return len(text)
