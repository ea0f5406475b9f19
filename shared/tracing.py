"""Spans at the boundaries: a request, a published chunk, an applied batch, a sent mail. One trace from end to end.

What carries the trace between services is the ``traceparent`` of W3C Trace Context, in the event's own headers; it is
written with the event, so every copy has the same. Here only the OpenTelemetry *API* is used: without an SDK spans are
nothing and the incoming context passes through unchanged.

The SDK is set up when ``OTEL_EXPORTER_OTLP_ENDPOINT`` names a collector and the packages are installed (the extra
``tracing``). Never before a fork: an exporter has a thread of its own.
"""

import importlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.propagate import extract, inject
from opentelemetry.trace import Span, SpanKind, Tracer
from opentelemetry.util.types import AttributeValue

from shared.logs import get_logger

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"

log = get_logger(__name__)


def configure(instance: str) -> None:
    """Send spans to the collector that the environment names; does nothing when it names none."""
    if not os.environ.get(ENDPOINT):
        return
    try:
        sdk = importlib.import_module("opentelemetry.sdk.trace")
        export = importlib.import_module("opentelemetry.sdk.trace.export")
        resources = importlib.import_module("opentelemetry.sdk.resources")
        otlp = importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    except ImportError as error:
        log.warning(
            "no traces are sent: a package is missing",
            variable=ENDPOINT,
            package=error.name,
            cure="pip install 'effectively-once[tracing]', or unset the variable",
        )
        return
    provider = sdk.TracerProvider(resource=resources.Resource.create({"service.name": instance}))
    provider.add_span_processor(export.BatchSpanProcessor(otlp.OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


@contextmanager
def span(name: str, kind: SpanKind, parent: str | None = None, **attributes: AttributeValue) -> Iterator[Span]:
    """Do something inside a span that continues the ``traceparent`` of whoever asked for it."""
    context = extract({"traceparent": parent}) if parent else None
    with _tracer().start_as_current_span(name, context=context, kind=kind, attributes=attributes) as started:
        yield started


@contextmanager
def batch_span(
    name: str, kind: SpanKind, parents: Iterable[str | None], **attributes: AttributeValue
) -> Iterator[None]:
    """Do something for many events at once: one span, linked to the trace of each."""
    with _tracer().start_as_current_span(name, kind=kind, attributes=attributes) as started:
        if started.is_recording():
            for parent in parents:
                if parent:
                    started.add_link(trace.get_current_span(extract({"traceparent": parent})).get_span_context())
        yield


def current_traceparent() -> str | None:
    """Return the context of the span in hand, to be written into an event; None outside of any trace."""
    carrier: dict[str, str] = {}
    inject(carrier)
    return carrier.get("traceparent")


def trace_id() -> str | None:
    """Return the id of the trace in hand: the same in every attempt, where spans differ."""
    context = trace.get_current_span().get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else None


def _tracer() -> Tracer:
    # Asked for each time: a tracer taken before `configure` would stay without an SDK for ever.
    return trace.get_tracer("effectively-once")
