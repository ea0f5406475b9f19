"""The proxy between processes and a server: what it does to bytes, and that what it did is counted."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest

from chaos.proxy import Proxy, Weather
from infra.local.ports import HOST
from tests.conftest import eventually


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """Return a listening server that sends back what it is sent."""
    listening = socket.create_server((HOST, 0))

    def echo(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while data := connection.recv(1000):
                connection.sendall(data)

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=echo, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    with listening:
        yield listening


@pytest.fixture
def proxy(server: socket.socket) -> Iterator[Proxy]:
    with closing(Proxy(HOST, server.getsockname()[1])) as made:
        yield made


def connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection((HOST, proxy.port), timeout=5)


def test_bytes_pass_unaltered(proxy: Proxy) -> None:
    """In clear weather nobody notices it."""
    with connect(proxy) as client:
        client.sendall(b"hello")
        assert client.recv(100) == b"hello"
    assert proxy.passes()
    assert proxy.toll.total == 0


@pytest.mark.parametrize("weather", [Weather.CUT, Weather.ANSWERS_LOST])
def test_what_a_cut_holds_back_arrives_when_it_ends(proxy: Proxy, weather: Weather) -> None:
    """Nothing comes while it lasts, nothing is lost by it, and that it was felt is counted."""
    with connect(proxy) as client:
        proxy.set(weather)
        client.sendall(b"hello")
        eventually(lambda: proxy.toll.held > 0, 5, "something is held back")
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.recv(100)
        proxy.set(Weather.CLEAR)
        client.settimeout(5)
        assert client.recv(100) == b"hello"


def test_a_reset_ends_connections_without_a_farewell(proxy: Proxy) -> None:
    """The client gets an error instead of an end, and new connections are refused until the weather clears."""
    with connect(proxy) as client:
        client.sendall(b"hello")
        assert client.recv(100) == b"hello"
        proxy.set(Weather.REFUSED)
        with pytest.raises(ConnectionResetError):
            client.recv(100)
    assert not proxy.passes()
    proxy.set(Weather.CLEAR)
    assert proxy.passes()


def test_slow_weather_delays_and_loses_nothing(proxy: Proxy) -> None:
    """Everything arrives, late, and each delay is counted."""
    proxy.set(Weather.SLOW, 0.05)
    with connect(proxy) as client:
        client.sendall(b"hello")
        assert client.recv(100) == b"hello"
    assert proxy.toll.delayed >= 2
