"""Log lines of a worker started by hand, on standard error."""

import logging
import sys

import structlog


def begin(as_json: bool, is_verbose: bool = True) -> None:
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG if is_verbose else logging.INFO),
        processors=[structlog.processors.add_log_level, structlog.processors.TimeStamper("iso"), renderer],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
