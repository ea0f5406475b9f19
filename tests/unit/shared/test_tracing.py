"""Traces pass through services, with an SDK and without."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from shared import tracing

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
OTHER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """Record spans in memory, for this test only."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", lambda name: provider.get_tracer(name))
    yield exporter
    provider.shutdown()


def test_without_an_sdk_the_context_passes_through_unchanged() -> None:
    """What came in is what an event is written with."""
    with tracing.span("step", SpanKind.SERVER, PARENT):
        assert tracing.current_traceparent() == PARENT
    assert tracing.current_traceparent() is None


def test_a_span_continues_the_trace_it_came_with(spans: InMemorySpanExporter) -> None:
    """The event carries the new span as parent, in the same trace."""
    with tracing.span("step", SpanKind.SERVER, PARENT):
        told = tracing.current_traceparent()
        assert tracing.trace_id() == PARENT.split("-")[1]
    (span,) = spans.get_finished_spans()
    assert told == f"00-{PARENT.split('-')[1]}-{trace.format_span_id(span.context.span_id)}-01"
    assert span.parent is not None
    assert trace.format_span_id(span.parent.span_id) == PARENT.split("-")[2]


def test_a_batch_is_one_span_linked_to_the_trace_of_each_event(spans: InMemorySpanExporter) -> None:
    """Events without a trace are passed over."""
    with tracing.batch_span("batch", SpanKind.CONSUMER, [PARENT, None, OTHER]):
        pass
    (span,) = spans.get_finished_spans()
    assert [trace.format_trace_id(link.context.trace_id) for link in span.links] == [
        PARENT.split("-")[1],
        OTHER.split("-")[1],
    ]


def test_a_collector_without_the_packages_is_a_warning_with_a_cure() -> None:
    """A wish for traces must not stop a service that can do its work."""
    program = (
        "import sys; sys.modules['opentelemetry.sdk.trace'] = None\n"
        "from shared import logs, tracing; logs.configure('t', 'INFO'); tracing.configure('t')"
    )
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "PYTHONPATH": ":".join(sys.path)}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert "pip install" in run.stderr
