"""Requests as spans for an OpenTelemetry collector; without a setting nothing of it is even imported."""

import importlib
import time
from types import ModuleType

from cableferry.server.exchange import Reply, Request
from cableferry.server.settings import OtelSection
from cableferry.server.sources import SettingsError


class Traces:
    """One span for each request, below the span of its caller's `traceparent`."""

    def __init__(self, section: OtelSection) -> None:
        self._trace = _library("opentelemetry.trace")
        self._context = _library("opentelemetry.trace.propagation.tracecontext").TraceContextTextMapPropagator()
        resources, sdk = _library("opentelemetry.sdk.resources"), _library("opentelemetry.sdk.trace")
        export = _library("opentelemetry.sdk.trace.export")
        exporter = _library("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        sampling = _library("opentelemetry.sdk.trace.sampling")
        self._provider = sdk.TracerProvider(
            resource=resources.Resource.create({"service.name": section.service_name}),
            sampler=sampling.ParentBased(sampling.TraceIdRatioBased(section.sample_ratio)),
        )
        sent = exporter.OTLPSpanExporter(endpoint=section.endpoint)
        self._provider.add_span_processor(export.BatchSpanProcessor(sent))
        self._tracer = self._provider.get_tracer("cableferry")

    def answered(self, request: Request, reply: Reply) -> None:
        now = time.time_ns()
        started = now - int((time.perf_counter() - request.started) * 1e9)
        route = request.route.template if request.route else "none"
        span = self._tracer.start_span(
            f"{request.method} {route}",
            context=self._context.extract({"traceparent": request.header(b"traceparent") or ""}),
            kind=self._trace.SpanKind.SERVER,
            start_time=started,
            attributes=_attributes(request, reply, route),
        )
        if reply.status >= 500:
            span.set_status(self._trace.StatusCode.ERROR)
        span.end(now)

    def close(self) -> None:
        """Send what has not been sent."""
        self._provider.shutdown()


def _attributes(request: Request, reply: Reply, route: str) -> dict[str, str | int]:
    attributes: dict[str, str | int] = {
        "http.request.method": request.method,
        "http.route": route,
        "http.response.status_code": reply.status,
        "cableferry.trace_id": request.trace_id,
    }
    if job := request.params.get("job_id"):
        attributes["cableferry.job"] = job
    if request.worker:
        attributes["cableferry.worker"] = request.worker
    return attributes


def _library(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise SettingsError("otel.endpoint is set, but cableferry was installed without its extra otel") from None
