"""How log lines are written, and the one line that each request leaves."""

import logging
import sys
import time
from collections.abc import Mapping
from typing import BinaryIO, cast

import msgspec
import structlog
from structlog.typing import EventDict, Processor

from cableferry.core import artifacts
from cableferry.server.exchange import Reply, Request
from cableferry.server.settings import LogSection

log = structlog.get_logger()

_ENCODER = msgspec.json.Encoder(enc_hook=str)


def configure(section: LogSection, out: BinaryIO | None = None) -> None:
    """One line on standard output for each event."""
    is_json = section.format == "json"
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *(_for_programs() if is_json else _for_people()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(section.level),
        logger_factory=structlog.BytesLoggerFactory(out or sys.stdout.buffer),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)


def _for_programs() -> list[Processor]:
    return [structlog.processors.format_exc_info, _as_json]


def _for_people() -> list[Processor]:
    return [
        structlog.dev.ConsoleRenderer(
            colors=sys.stdout.isatty(),
            # the usual one shows the values of variables, secrets among them
            exception_formatter=structlog.dev.plain_traceback,
        ),
        _as_bytes,
    ]


def _as_json(logger: object, method: str, event: EventDict) -> bytes:
    return _ENCODER.encode(event)


def _as_bytes(logger: object, method: str, event: object) -> bytes:
    return cast(str, event).encode("utf-8", "replace")


def answered(request: Request, reply: Reply) -> None:
    """The canonical line: what was asked by whom and what became of it, without bodies or secrets."""
    fields: dict[str, object] = {
        "method": request.method,
        "route": request.route.template if request.route else None,
        "status": reply.status,
        "ms": round((time.perf_counter() - request.started) * 1000, 3),
        "request": request.request_id,
        "trace": request.trace_id,
        "bytes_in": request.bytes_in,
        "bytes_out": reply.size_bytes,
    }
    if request.caller is not None:
        fields["caller"] = request.caller.actor
    about = _created(reply) | _of_bucket(request.params)
    for noun in ("job", "artifact"):
        if named := request.params.get(f"{noun}_id") or about.get(noun):
            fields[noun] = named
    if worker := request.params.get("worker_id") or request.worker:
        fields["worker"] = worker
    if reply.kind is not None:
        fields["kind"] = reply.kind
    log.info("request answered", **fields)


def _of_bucket(params: Mapping[str, str]) -> dict[str, str]:
    """The artifact that a key of the S3 gateway begins with."""
    head, slash, _ = params.get("key", "").partition("/")
    return {"artifact": head} if slash and artifacts.is_id(head) else {}


def _created(reply: Reply) -> dict[str, str]:
    """The noun and the id in the Location of something new."""
    if reply.status != 201:
        return {}
    location = next((value.decode() for name, value in reply.headers if name == b"location"), "")
    home, _, new = location.rpartition("/")
    return {home.rpartition("/")[2].removesuffix("s"): new}
