"""Serve a process's Prometheus metrics.

The metric objects live beside the code that counts; this module only opens the door. Processes that fork workers
(gunicorn) use the client library's multiprocess mode instead and serve from their own HTTP port.
"""

from prometheus_client import start_http_server

from shared.errors import ConfigurationError


def serve(host: str, port: int) -> None:
    """Serve /metrics from a background thread; port 0 means: do not serve. Raises ConfigurationError."""
    if not port:
        return
    try:
        start_http_server(port, addr=host)
    except OSError as error:
        raise ConfigurationError(
            f"Metrics cannot be served on {host}:{port}: {error.strerror}. "
            "Stop what holds the port, or set METRICS_PORT to a free one (0: no metrics)."
        ) from error
