"""A Kafka Connect worker as a process: its files, its command, and what it takes from the environment."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from sqlalchemy import make_url

from infra.cdc.configuration import Source, connector, properties, worker
from infra.local.errors import MissingToolError
from infra.local.kafka import connect_folder, java
from shared.settings import read_secret

SMALL_JVM = (
    "-Xms64m",
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:MaxMetaspaceSize=160m",
    "-XX:ReservedCodeCacheSize=64m",
)
"""Bounded for a laptop: 150 to 250 MB in all."""

_LOGGING = """\
status = WARN
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %m (%c)%n
rootLogger.level = WARN
rootLogger.appenderRef.console.ref = console
logger.debezium.name = io.debezium.connector.postgresql.PostgresStreamingChangeEventSource
logger.debezium.level = INFO
"""


def prepare(folder: Path, bootstrap: str, port: int, sources: Sequence[Source], jvm: Sequence[str]) -> list[str]:
    """Write a worker's files and return the command that starts it. Raises MissingToolError."""
    folder.mkdir(parents=True, exist_ok=True)
    offsets = folder / "offsets"
    # Where to go on is known by the slot alone; what an earlier life noted could be of another slot.
    offsets.unlink(missing_ok=True)
    settings = folder / "worker.properties"
    settings.write_text(properties(worker(bootstrap, port, str(offsets))), encoding="utf-8")
    logging = folder / "log4j2.properties"
    logging.write_text(_LOGGING, encoding="utf-8")
    connectors = [_write(folder, each) for each in sources]
    return [
        *_java(logging, jvm),
        "org.apache.kafka.connect.cli.ConnectStandalone",
        str(settings),
        *connectors,
    ]


def source(name: str, environ: Mapping[str, str]) -> Source:
    """Read one outbox from the environment; its password stays a reference to it."""
    prefix = name.upper()
    url = make_url(environ[f"{prefix}_DATABASE_URL"])
    return Source(
        name=name,
        host=url.host or "",
        port=url.port or 5432,
        database=url.database or "",
        role=url.username or "",
        password=f"${{env:{_variable(name)}}}",
        slot=environ[f"{prefix}_SLOT"],
        topic=environ[f"{prefix}_TOPIC"],
        dead_letter_topic=environ["DEAD_LETTER_TOPIC"],
        heartbeat_topic=environ[f"{prefix}_HEARTBEAT_TOPIC"],
    )


def passwords(names: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the references of ``source`` name."""
    return {_variable(name): read_secret(environ[f"{name.upper()}_PASSWORD_FILE"]) for name in names}


def _java(logging: Path, jvm: Sequence[str]) -> list[str]:
    if not any(connect_folder().glob("*.jar")):
        raise MissingToolError(
            "Kafka Connect is not installed: it is fetched when the engine `cdc` is chosen. "
            "Run `once engine switch cdc`, or `python -m infra.kafka.jars fetch connect`."
        )
    words = ["-Dfile.encoding=UTF-8", "-Duser.timezone=UTC", f"-Dlog4j2.configurationFile={logging}"]
    return [str(java()), *jvm, *words, "-cp", f"{connect_folder()}/*"]


def _write(folder: Path, each: Source) -> str:
    file = folder / f"{each.name}.json"
    file.write_text(json.dumps({"name": each.name, "config": connector(each)}, indent=1), encoding="utf-8")
    return str(file)


def _variable(name: str) -> str:
    return f"{name.upper()}_PASSWORD"
