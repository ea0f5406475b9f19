"""What Kafka Connect and its connectors are told, so that events come out as the relay sends them.

Invariant: key, value and partition of an event, and its headers that have a value, are those of the relay
(``shared/envelope.py``). The slot and the publication exist before: a connector that makes its own would begin behind
events that nobody has published.

Not promised: parking. A row that the broker does not take stops its connector, and with it everything behind.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from infra.local.ports import HOST
from shared.cdc import PUBLICATION


@dataclass(frozen=True, slots=True)
class Source:
    """One outbox. ``password`` is a literal, or a reference that Connect resolves, such as ``${env:NAME}``."""

    name: str
    host: str
    port: int
    database: str
    role: str
    password: str
    slot: str
    topic: str
    dead_letter_topic: str
    heartbeat_topic: str


_HEADERS = {
    "event_id": "ce_id",
    "type": "ce_type",
    "source": "ce_source",
    "aggregate_id": "ce_subject",
    "occurred_at": "ce_time",
    "dataschema": "ce_dataschema",
    "aggregate_type": "ce_aggregatetype",
    "aggregate_version": "ce_aggregateversion",
    "traceparent": "traceparent",
}
"""Column → header."""

_ROUTED = "aggregate_type="
"""Before what is no topic yet: no topic may have such a name."""

CONNECTOR: Mapping[str, str] = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "tasks.max": "1",
    "plugin.name": "pgoutput",
    # Both were made by us, in this order: the publication by a migration, the slot when the engine was chosen.
    "publication.name": PUBLICATION,
    "publication.autocreate.mode": "disabled",
    "slot.drop.on.stop": "false",
    # Begin where the slot begins. A snapshot would send the whole history again.
    "snapshot.mode": "no_data",
    "table.include.list": "public.outbox",
    # So that the slot is confirmed, and the log let go, also while no events come.
    "heartbeat.interval.ms": "1000",
    "tombstones.on.delete": "false",
    "binary.handling.mode": "bytes",
    "poll.interval.ms": "20",
    # The first error stops the connector with its words: skipping would be losing.
    "errors.tolerance": "none",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "header.converter": "org.apache.kafka.connect.storage.StringConverter",
    # The payload as it is; heartbeats, which are no bytes, as JSON.
    "value.converter": "io.debezium.converters.BinaryDataConverter",
    "value.converter.delegate.converter.type": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.delegate.converter.type.schemas.enable": "false",
    # The headers of an event are its contract: nothing of the connector's own among them.
    "extended.headers.enabled": "false",
    "transforms": "version,specversion,contenttype,outbox,deadletters,events,noid",
    # By way of a field: a header's literal would be read as a number, and 1.0 come out as 1.
    "transforms.version.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.version.static.field": "specversion",
    "transforms.version.static.value": "1.0",
    "transforms.specversion.type": "org.apache.kafka.connect.transforms.HeaderFrom$Value",
    "transforms.specversion.fields": "specversion",
    "transforms.specversion.headers": "ce_specversion",
    "transforms.specversion.operation": "copy",
    "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
    "transforms.outbox.table.field.event.id": "event_id",
    "transforms.outbox.table.field.event.key": "aggregate_id",
    "transforms.outbox.table.field.event.payload": "payload",
    "transforms.outbox.route.by.field": "aggregate_type",
    "transforms.outbox.table.fields.additional.placement": ",".join(
        f"{column}:header:{header}" for column, header in _HEADERS.items()
    ),
    # The router knows a topic by the aggregate type alone; these two give it the name that the relay sends to.
    "transforms.outbox.route.topic.replacement": f"{_ROUTED}${{routedByValue}}",
    "transforms.deadletters.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.deadletters.regex": f"{_ROUTED}dead_letter",
    "transforms.events.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.events.regex": f"{_ROUTED}.*",
    # The router's own header, beside ours.
    "transforms.noid.type": "org.apache.kafka.connect.transforms.DropHeaders",
    "transforms.noid.headers": "id",
    "transforms.contenttype.type": "org.apache.kafka.connect.transforms.InsertHeader",
    "transforms.contenttype.header": "content-type",
    "transforms.contenttype.value.literal": "application/json",
    # As the relay's producer. One request at a time keeps acknowledgements close to the order of the log.
    "producer.override.acks": "all",
    "producer.override.enable.idempotence": "true",
    "producer.override.max.in.flight.requests.per.connection": "1",
    "producer.override.compression.type": "lz4",
}
"""What is the same for every outbox."""


def connector(source: Source, tuning: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the configuration of the connector of one outbox; ``tuning`` wins over what is common."""
    heartbeat_prefix, _dot, name = source.heartbeat_topic.rpartition(".")
    return {
        **CONNECTOR,
        "name": source.name,
        "database.hostname": source.host,
        "database.port": str(source.port),
        "database.dbname": source.database,
        "database.user": source.role,
        "database.password": source.password,
        "slot.name": source.slot,
        "heartbeat.action.query": f"SELECT cdc_heartbeat('{source.slot}')",
        "topic.prefix": name,
        "topic.heartbeat.prefix": heartbeat_prefix,
        "transforms.deadletters.replacement": source.dead_letter_topic,
        "transforms.events.replacement": source.topic,
        **(tuning or {}),
    }


def worker(bootstrap: str, port: int, offsets: str) -> dict[str, str]:
    """Return the configuration of a Connect worker that runs by itself."""
    return {
        "bootstrap.servers": bootstrap,
        "listeners": f"http://{HOST}:{port}",
        "offset.storage.file.filename": offsets,
        # A slot is confirmed when offsets are written: what it is behind is published twice after a crash.
        "offset.flush.interval.ms": "1000",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "config.providers": "env",
        "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
        "plugin.discovery": "service_load",
        "topic.creation.enable": "false",
    }


def properties(entries: Mapping[str, str]) -> str:
    """Write a Java properties file; a backslash would begin an escape."""
    return "".join(f"{name}={value}\n" for name, value in entries.items()).replace("\\", "\\\\")
