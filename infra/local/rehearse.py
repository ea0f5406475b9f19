"""Rehearse Kafka's start once, so that every later one takes half the time: ``python -m infra.local.rehearse``.

Java can remember which classes a program loaded and how they were linked (an ahead-of-time cache, Java 25). The
rehearsal starts a broker on data of its own, waits until it answers, and stops it; Java then writes the cache.

Not promised: that it works on every Java. Without a cache everything runs, only slower, so no failure here is an error.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from infra.local import ports
from infra.local.home import Home
from infra.local.kafka import JVM_OPTIONS, Kafka, Node, aot_cache, java_command
from infra.local.server import wait_until_ready

_STARTED_WITHIN_SECONDS = 120
_WRITTEN_WITHIN_SECONDS = 120
_PORTS = ports.Range(20000, 4, 27400)


def rehearse() -> bool:
    """Make the cache; tell whether there is one now."""
    aot_cache().unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        dealt = ports.free_block(["kafka", "controller", "far", "near"], _PORTS)
        broker = Kafka(Home(Path(folder)), [Node(*dealt.values())])
        broker.prepare(lambda _line: None)
        place = broker.task().directory
        command = [*java_command(), "-XX:AOTCacheOutput=kafka.aot", *JVM_OPTIONS, "kafka.Kafka", "server.properties"]
        log = aot_cache().with_suffix(".log")  # outlives the folder: a failure tells people to read it
        with log.open("wb") as output:
            environment = dict(broker.task().environment)
            process = subprocess.Popen(command, cwd=place, env=environment, stdout=output, stderr=output)
            _perform(process, broker, log)
        written = place / "kafka.aot"
        if written.exists():
            aot_cache().write_bytes(written.read_bytes())
    return aot_cache().exists()


def _perform(process: "subprocess.Popen[bytes]", broker: Kafka, log: Path) -> None:
    try:
        wait_until_ready("Kafka", broker.probe, lambda: process.poll() is None, log, _STARTED_WITHIN_SECONDS)
        process.terminate()
        process.wait(_WRITTEN_WITHIN_SECONDS)
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    begun = time.monotonic()
    try:
        made = rehearse()
    except Exception as error:  # noqa: BLE001  # a slower start is no reason to stop set-up
        sys.exit(f"Kafka's start could not be rehearsed, so it will be slower: {error}")
    if not made:
        sys.exit("This Java keeps no memory of an earlier start, so Kafka's will be slower.")
    print(f"  Kafka's start rehearsed in {time.monotonic() - begun:.0f} s")  # noqa: T201
