"""What a relay can be told from outside. Field names in capitals are the variables."""

from dataclasses import dataclass

from shared.settings import setting


@dataclass(frozen=True, slots=True)
class Settings:
    instance: str = setting(help="name of this relay; its lanes come back to it after a restart")
    database_url: str = setting(help="postgresql://role@host:port/database, without a password")
    kafka_bootstrap_servers: str = setting(help="host:port of one or more brokers")
    database_password_file: str = setting("", help="file with the role's password; empty: none needed")
    redis_url: str = setting("redis://127.0.0.1:6379/0", help="broker of the command queue")
    celery_queue: str = setting("notifications", help="queue that commands go to")
    orders_topic: str = setting("orders.events", help="topic of the orders' events")
    billing_topic: str = setting("billing.events", help="topic of the bills' events")
    dead_letter_topic: str = setting("dead.letters", help="topic of the notices of what consumers have parked")
    relay_destinations: tuple[str, ...] = setting(
        ("event",), help="what this relay carries, separated by commas", choices=("event", "command")
    )
    relay_chunk_size: int = setting(5000, help="most rows read and published at a time", minimum=1)
    relay_lease_seconds: float = setting(6.0, help="how long a silent relay keeps its lanes", minimum=1)
    relay_renew_seconds: float = setting(1.5, help="how often leases are renewed", minimum=0.1)
    relay_produce_deadline_seconds: float = setting(4.0, help="longest wait for a chunk's reports", minimum=0.1)
    relay_poll_seconds: float = setting(0.005, help="shortest wait between two looks at the outbox", minimum=0)
    relay_idle_poll_seconds: float = setting(1.0, help="longest wait for a signal between two looks", minimum=0)
    relay_queue: str = setting("relay", help="queue of the ticks; for `worker` alone")
    relay_beat_seconds: float = setting(0.5, help="how often Beat wakes the relay; for `worker` alone", minimum=0.05)
    metrics_host: str = setting("127.0.0.1", help="address of /metrics")
    metrics_port: int = setting(0, help="port of /metrics; 0: none", minimum=0)
    log_level: str = setting("INFO", help="least level logged", choices=("DEBUG", "INFO", "WARNING", "ERROR"))
