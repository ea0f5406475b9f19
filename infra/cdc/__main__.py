"""Become a Kafka Connect worker with a connector for each outbox: ``python -m infra.cdc``.

Reads ``KAFKA_BOOTSTRAP_SERVERS``, ``HTTP_PORT``, ``DEAD_LETTER_TOPIC``, and for each outbox in ``CDC_SOURCES``
(``orders,billing``) its ``ORDERS_DATABASE_URL``, ``ORDERS_PASSWORD_FILE``, ``ORDERS_SLOT``, ``ORDERS_TOPIC``,
``ORDERS_HEARTBEAT_TOPIC``. Works in the current folder. The process becomes Java, so a signal reaches the worker
itself.

Invariant: a password is in the environment, never in a file or in what Connect shows of a connector.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from infra.cdc.worker import SMALL_JVM, passwords, prepare, source
from shared.errors import OnceError


def main(environ: Mapping[str, str]) -> None:
    """Write the files and replace this process; returns never."""
    names = environ["CDC_SOURCES"].split(",")
    command = prepare(
        Path("connect"),
        environ["KAFKA_BOOTSTRAP_SERVERS"],
        int(environ["HTTP_PORT"]),
        [source(name, environ) for name in names],
        SMALL_JVM,
    )
    os.execve(command[0], command, {**environ, **passwords(names, environ)})  # noqa: S606  # no shell, on purpose


if __name__ == "__main__":
    try:
        main(os.environ)
    except OnceError as error:
        sys.exit(str(error))
