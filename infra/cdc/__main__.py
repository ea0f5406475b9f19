"""Become a Kafka Connect worker with a connector for each outbox: ``python -m infra.cdc``.

Reads ``KAFKA_BOOTSTRAP_SERVERS``, ``HTTP_PORT``, and for each outbox in ``CDC_SOURCES`` (``orders,billing``) its
``ORDERS_DATABASE_URL``, ``ORDERS_PASSWORD_FILE``, ``ORDERS_SLOT``, ``ORDERS_TOPIC``, ``ORDERS_HEARTBEAT_TOPIC``. Works
in the current folder. The process becomes Java, so a signal reaches the worker itself.

Invariant: where to go on is known by the slot alone. Offsets that an earlier life left are thrown away: they could be
of another slot. A password is in the environment, never in a file or in what Connect shows of a connector.
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import make_url

from infra.cdc.configuration import Source, connector, properties, worker
from infra.local.errors import MissingToolError
from infra.local.kafka import connect_folder, java
from shared.errors import OnceError
from shared.settings import read_secret

JVM_OPTIONS = (
    "-Xms64m",
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:MaxMetaspaceSize=160m",
    "-XX:ReservedCodeCacheSize=64m",
    "-Dfile.encoding=UTF-8",
    "-Duser.timezone=UTC",
)

_LOGGING = """\
status = WARN
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %m (%c)%n
rootLogger.level = WARN
rootLogger.appenderRef.console.ref = console
logger.debezium.name = io.debezium.connector
logger.debezium.level = INFO
"""


def main(environ: Mapping[str, str]) -> None:
    """Write the files and replace this process; returns never."""
    folder = Path("connect")
    folder.mkdir(exist_ok=True)
    offsets = folder / "offsets"
    offsets.unlink(missing_ok=True)
    sources = [source(name, environ) for name in environ["CDC_SOURCES"].split(",")]
    settings = worker(environ["KAFKA_BOOTSTRAP_SERVERS"], int(environ["HTTP_PORT"]), str(offsets))
    (folder / "worker.properties").write_text(properties(settings), encoding="utf-8")
    (folder / "log4j2.properties").write_text(_LOGGING, encoding="utf-8")
    files = [_write(folder, each) for each in sources]
    command = [*java_command(folder), "org.apache.kafka.connect.cli.ConnectStandalone"]
    os.execve(  # noqa: S606  # no shell, on purpose
        command[0],
        [*command, str(folder / "worker.properties"), *files],
        {**environ, **{_password_variable(each.name): _password(each.name, environ) for each in sources}},
    )


def source(name: str, environ: Mapping[str, str]) -> Source:
    """Read one outbox from the environment."""
    prefix = name.upper()
    url = make_url(environ[f"{prefix}_DATABASE_URL"])
    return Source(
        name=name,
        host=url.host or "",
        port=url.port or 5432,
        database=url.database or "",
        role=url.username or "",
        password=f"${{env:{_password_variable(name)}}}",
        slot=environ[f"{prefix}_SLOT"],
        topic=environ[f"{prefix}_TOPIC"],
        heartbeat_topic=environ[f"{prefix}_HEARTBEAT_TOPIC"],
    )


def java_command(folder: Path, options: tuple[str, ...] = JVM_OPTIONS) -> list[str]:
    """Return how Java is started with Connect's classes. Raises MissingToolError."""
    if not any(connect_folder().glob("*.jar")):
        raise MissingToolError(
            "Kafka Connect is not installed: it is fetched when the engine `cdc` is chosen. "
            "Run `once engine switch cdc`, or `python -m infra.kafka.jars fetch connect`."
        )
    logging = f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}"
    return [str(java()), *options, logging, "-cp", f"{connect_folder()}/*"]


def _write(folder: Path, each: Source) -> str:
    file = folder / f"{each.name}.json"
    configuration = connector(each)
    file.write_text(json.dumps({"name": each.name, "config": configuration}, indent=1), encoding="utf-8")
    return str(file)


def _password_variable(name: str) -> str:
    return f"{name.upper()}_PASSWORD"


def _password(name: str, environ: Mapping[str, str]) -> str:
    return read_secret(environ[f"{name.upper()}_PASSWORD_FILE"])


if __name__ == "__main__":
    try:
        main(os.environ)
    except OnceError as error:
        sys.exit(str(error))
