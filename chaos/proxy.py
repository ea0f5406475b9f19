"""A small TCP proxy: the network between some processes and a server, which can be cut, made slow, or broken.

Invariant: bytes are never altered, reordered or dropped while their connection lives: what a cut holds back is
delivered when it ends, as TCP does after a partition. A reset ends connections with RST, and what was on its way is
lost.

Not promised: loss of packets, or what keepalive makes of a dead link. Both ends see a connection that is alive and
silent, since their own kernels talk to this one.
"""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from infra.local.ports import HOST

CHUNK_BYTES = 65_536
STARTS_WITHIN_SECONDS = 10.0


class Weather(StrEnum):
    """What the way is like. The last words say who sees what."""

    CLEAR = "clear"
    CUT = "cut"
    """Nothing passes in either direction; connections stay open and silent."""
    ANSWERS_LOST = "answers held back"
    """Requests arrive and are carried out; no answer comes back."""
    SLOW = "slow"
    """Everything arrives, late."""
    REFUSED = "refused"
    """Every connection is reset at once, new ones too."""


@dataclass(slots=True)
class Toll:
    """What the weather has done so far: the evidence that it was felt."""

    held: int = 0
    delayed: int = 0
    reset: int = 0

    @property
    def total(self) -> int:
        return self.held + self.delayed + self.reset


class Proxy:
    """Listens on a port of its own and passes on to a server. Thread-safe from outside."""

    def __init__(self, host: str, port: int, listen_port: int = 0) -> None:
        self._target = (host, port)
        self._socket = socket.create_server((HOST, listen_port), backlog=256)
        self.port = int(self._socket.getsockname()[1])
        self.toll = Toll()
        self._weather = Weather.CLEAR
        self._delay_seconds = 0.0
        self._loop = asyncio.new_event_loop()
        self._clear = asyncio.Event()
        self._open: set[asyncio.StreamWriter] = set()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"proxy-{port}", daemon=True)
        self._thread.start()
        self._started.wait(STARTS_WITHIN_SECONDS)

    def set(self, weather: Weather, delay_seconds: float = 0.0) -> None:
        """Change the weather for every connection; returns when it has changed."""
        self._call(lambda: self._change(weather, delay_seconds))

    def reset(self) -> None:
        """End every connection with RST."""
        self._call(self._reset_all)

    def passes(self) -> bool:
        """Whether one gets to the server this way."""
        with contextlib.suppress(OSError), socket.create_connection((HOST, self.port), timeout=2.0) as probe:
            probe.settimeout(0.2)
            try:
                return probe.recv(1) != b""  # an end says that the far side could not be reached
            except TimeoutError:
                return self._weather is Weather.CLEAR
        return False

    def close(self) -> None:
        """End the proxy and every connection through it; idempotent."""
        if self._thread.is_alive():
            self._call(self._reset_all)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(STARTS_WITHIN_SECONDS)

    # In the loop's thread

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._clear.set()
        server = self._loop.run_until_complete(asyncio.start_server(self._accept, sock=self._socket))
        self._started.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    def _call(self, action: Callable[[], None]) -> None:
        async def act() -> None:
            action()

        asyncio.run_coroutine_threadsafe(act(), self._loop).result(STARTS_WITHIN_SECONDS)

    def _change(self, weather: Weather, delay_seconds: float) -> None:
        self._weather, self._delay_seconds = weather, delay_seconds
        if weather in (Weather.CUT, Weather.ANSWERS_LOST):
            self._clear.clear()
        else:
            self._clear.set()
        if weather is Weather.REFUSED:
            self._reset_all()

    def _reset_all(self) -> None:
        for writer in list(self._open):
            self._abort(writer)
        self._open.clear()

    def _abort(self, writer: asyncio.StreamWriter) -> None:
        connection: Any = writer.get_extra_info("socket")
        if connection is not None and connection.fileno() >= 0:
            # Lingering for no time at all: the kernel sends RST instead of FIN.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        self.toll.reset += 1

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            if self._weather is Weather.REFUSED:
                self._abort(writer)
                return
            await self._connect(reader, writer)
        except OSError:
            self._abort(writer)  # the server is away: so it looks from the other side
        finally:
            self._open.discard(writer)
            writer.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(*self._target)
        self._open.add(far_writer)
        try:
            pumps = [self._pump(reader, far_writer, answers=False), self._pump(far_reader, writer, answers=True)]
            tasks = [asyncio.ensure_future(pump) for pump in pumps]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
        finally:
            self._open.discard(far_writer)
            far_writer.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while chunk := await reader.read(CHUNK_BYTES):
                await self._pass_weather(answers)
                writer.write(chunk)
                await writer.drain()

    async def _pass_weather(self, answers: bool) -> None:
        if self._weather is Weather.SLOW:
            self.toll.delayed += 1
            await asyncio.sleep(self._delay_seconds)
        if self._weather is Weather.CUT or (answers and self._weather is Weather.ANSWERS_LOST):
            self.toll.held += 1
            await self._clear.wait()
