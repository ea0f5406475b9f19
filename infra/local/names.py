"""What a copy of the system and its parts are called on the servers: databases, topics, groups, queues.

Invariant: each name carries the namespace, so that copies side by side do not meet.
"""

from zlib import crc32

from infra.local.services import MAIN, OUTBOXES, TOPICS, Program, database_name, in_namespace, relay_queue


class Names:
    """The names of one copy, which follow from its namespace and its processes."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.programs: dict[str, Program] = {}

    @property
    def topics(self) -> dict[str, str]:
        """Return variable → topic."""
        return {variable: in_namespace(name, self.namespace) for variable, name in TOPICS.items()}

    @property
    def groups(self) -> dict[str, str]:
        """Return service → consumer group."""
        found = {program.group for program in self.programs.values() if program.group}
        return {group: in_namespace(group, self.namespace) for group in sorted(found)}

    @property
    def redis_database(self) -> int:
        return 0 if self.namespace == MAIN else crc32(self.namespace.encode()) % 15 + 1

    @property
    def celery_queue(self) -> str:
        return "notifications" if self.namespace == MAIN else f"{self.namespace}.notifications"

    def housekeeping_queues(self) -> list[str]:
        found = (each.environment.get("HOUSEKEEPING_QUEUE") for each in self.programs.values())
        return [queue for queue in found if queue]

    def relay_queues(self) -> list[str]:
        return [relay_queue(source, self.namespace) for source in OUTBOXES]

    def slot(self, kind: str) -> str:
        """Name the replication slot of an outbox. Slots belong to the server, not to a database."""
        return f"cdc_{self.database(kind)}"

    def heartbeat_topic(self, kind: str) -> str:
        """Name the topic of the heartbeats of an outbox's connector."""
        return in_namespace(f"cdc.{kind}", self.namespace)

    def database(self, kind: str) -> str:
        """Name this deployment's database of a kind (``orders``, ``billing``, ...)."""
        return database_name(kind, self.namespace)

    def autostarted(self) -> list[Program]:
        return [program for program in self.programs.values() if program.autostart]

    def members(self, group: str) -> int:
        """Return how many members a group has that start by themselves."""
        return self.expected_members().get(in_namespace(group, self.namespace), 0)

    def expected_members(self) -> dict[str, int]:
        groups = [in_namespace(each.group, self.namespace) for each in self.autostarted() if each.group]
        return {group: groups.count(group) for group in dict.fromkeys(groups)}
