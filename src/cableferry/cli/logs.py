"""Log lines of a worker started by hand, on standard error."""

import sys

import structlog


def begin(as_json: bool) -> None:
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[structlog.processors.add_log_level, structlog.processors.TimeStamper("iso"), renderer],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
