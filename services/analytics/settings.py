"""Analytics' settings. A field's name in capitals is its variable."""

from dataclasses import dataclass

from shared.dedup_window import DEDUP_WINDOW_DAYS, LONGEST_REPLAY_DAYS
from shared.kafka import GROUP_PROTOCOLS
from shared.retention import DISCARDED_KEPT_DAYS
from shared.settings import setting

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


@dataclass(frozen=True, slots=True)
class Settings:
    database_url: str = setting(help="the analytics database, without a password: postgresql://role@host:port/db")
    database_password_file: str = setting("", help="file with the role's password; empty: none is needed")
    kafka_bootstrap_servers: str = setting("127.0.0.1:9092", help="host:port of a broker, several with commas")
    orders_topic: str = setting("orders.events", help="topic with the orders' events")
    billing_topic: str = setting("billing.events", help="topic with billing's events")
    consumer_group: str = setting("analytics", help="Kafka group; also the consumer's name in the inbox")
    group_protocol: str = setting("consumer", help="Kafka's group protocol", choices=GROUP_PROTOCOLS)
    max_poll_interval_seconds: float = setting(
        60.0, help="how long a batch may take before the group gives its partitions to another", minimum=6
    )
    batch_size: int = setting(500, help="most events in one transaction", minimum=1)
    rebuild_schema: str = setting(
        "", help="schema of a version that is being built beside the live one, in a group of its own; empty: live"
    )
    dedup_window_days: int = setting(
        DEDUP_WINDOW_DAYS, help="how many days the inbox knows what it has seen; older events are refused", minimum=1
    )
    longest_replay_days: int = setting(
        LONGEST_REPLAY_DAYS, help="how far back a replay may reach; at most dedup_window_days", minimum=0
    )
    discarded_kept_days: int = setting(
        DISCARDED_KEPT_DAYS, help="how many days an entry that was given up stays in a parking lot", minimum=1
    )
    instance: str = setting("analytics", help="the process's name in logs and in the database's activity view")
    admin_token_file: str = setting("", help="file with the bearer token of /admin; empty: no such endpoints")
    http_host: str = setting("127.0.0.1", help="address of the read-only API")
    http_port: int = setting(8083, help="port of the read-only API", minimum=1)
    http_workers: int = setting(1, help="gunicorn workers of the API", minimum=1)
    metrics_host: str = setting("127.0.0.1", help="address of the consumer's /metrics")
    metrics_port: int = setting(0, help="port of the consumer's /metrics; 0: none", minimum=0)
    redis_url: str = setting("redis://127.0.0.1:6379/0", help="the queue's Redis")
    housekeeping_queue: str = setting("analytics.housekeeping", help="the housekeeper's own queue")
    log_level: str = setting("INFO", help="least severe line that is logged", choices=LEVELS)
