"""The settings of orders, read once from the environment. One class per role: each asks only for what it uses."""

from dataclasses import dataclass

from shared.dedup_window import DEDUP_WINDOW_DAYS, LONGEST_REPLAY_DAYS
from shared.kafka import GROUP_PROTOCOLS
from shared.retention import DISCARDED_KEPT_DAYS, OUTBOX_KEPT_DAYS
from shared.settings import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings:
    database_url: str = setting(help="orders' database, without a password")
    database_password_file: str = setting("", help="file with the password of the role; empty: no password")
    instance: str = setting("orders-api", help="name of this process in logs and in the database")
    log_level: str = setting("INFO", help="least level logged", choices=("DEBUG", "INFO", "WARNING", "ERROR"))
    http_host: str = setting("127.0.0.1", help="address to listen on")
    http_port: int = setting(help="port to listen on", minimum=1)
    http_workers: int = setting(1, help="server processes; more than one need PROMETHEUS_MULTIPROC_DIR", minimum=1)
    admin_token_file: str = setting(help="file with the bearer token of /admin")
    body_limit_bytes: int = setting(65_536, help="largest body of a request, in bytes", minimum=1_024)
    wait_seconds: float = setting(
        2.0, help="how long a request waits for another that holds its key, its order or a connection", minimum=0.01
    )
    backlog_limit_seconds: float = setting(
        900.0, help="age of the oldest unpublished event at which no more orders are taken; 0: never", minimum=0
    )
    backlog_limit_events: int = setting(
        100_000, help="unpublished events at which no more orders are taken; 0: any number", minimum=0
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSettings:
    database_url: str = setting(help="orders' database, without a password")
    database_password_file: str = setting("", help="file with the password of the role; empty: no password")
    instance: str = setting("orders-consumer-1", help="name of this process in logs, in the group and in the database")
    log_level: str = setting("INFO", help="least level logged", choices=("DEBUG", "INFO", "WARNING", "ERROR"))
    kafka_bootstrap_servers: str = setting(help="host:port of at least one broker")
    billing_topic: str = setting("billing.events", help="topic of billing's events")
    consumer_group: str = setting("orders", help="Kafka group, and the consumer's name in the inbox")
    dedup_window_days: int = setting(
        DEDUP_WINDOW_DAYS, help="how many days the inbox knows what it has seen; older events are refused", minimum=1
    )
    longest_replay_days: int = setting(
        LONGEST_REPLAY_DAYS, help="how far back a replay may reach; at most dedup_window_days", minimum=0
    )
    group_protocol: str = setting("consumer", help="rebalance protocol of the group", choices=GROUP_PROTOCOLS)
    max_poll_interval_seconds: float = setting(
        60.0, help="how long a batch may take before the group gives its partitions to another", minimum=6
    )
    batch_size: int = setting(500, help="most events in one transaction", minimum=1)
    metrics_host: str = setting("127.0.0.1", help="address of /metrics")
    metrics_port: int = setting(0, help="port of /metrics; 0: none", minimum=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class HousekeeperSettings:
    database_url: str = setting(help="orders' database, without a password")
    database_password_file: str = setting("", help="file with the password of the role; empty: no password")
    instance: str = setting("orders-housekeeper-1", help="name of this process in logs and in the database")
    log_level: str = setting("INFO", help="least level logged", choices=("DEBUG", "INFO", "WARNING", "ERROR"))
    dedup_window_days: int = setting(
        DEDUP_WINDOW_DAYS, help="how many days the inbox knows what it has seen; older events are refused", minimum=1
    )
    outbox_kept_days: int = setting(
        OUTBOX_KEPT_DAYS,
        help="how many days a published event stays in the outbox, for rewinds",
        minimum=0,
    )
    discarded_kept_days: int = setting(
        DISCARDED_KEPT_DAYS, help="how many days an entry that was given up stays in a parking lot", minimum=1
    )
    redis_url: str = setting("redis://127.0.0.1:6379/0", help="the queue's Redis")
    housekeeping_queue: str = setting("orders.housekeeping", help="the housekeeper's own queue")
    metrics_host: str = setting("127.0.0.1", help="address of /metrics")
    metrics_port: int = setting(0, help="port of /metrics; 0: none", minimum=0)
