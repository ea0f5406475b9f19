"""Serve a process's Prometheus metrics.

The metric objects live beside the code that counts; this module only opens the door. Processes that fork workers
(gunicorn) use the client library's multiprocess mode instead and serve from their own HTTP port.
"""

from prometheus_client import start_http_server


def serve(host: str, port: int) -> None:
    """Serve /metrics from a background thread; port 0 means: do not serve."""
    if port:
        start_http_server(port, addr=host)
