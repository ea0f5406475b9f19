"""Billing's settings. A field's name in capitals is its variable."""

from dataclasses import dataclass

from shared.dedup_window import DEDUP_WINDOW_DAYS, LONGEST_REPLAY_DAYS
from shared.kafka import GROUP_PROTOCOLS
from shared.retention import DISCARDED_KEPT_DAYS, OUTBOX_KEPT_DAYS
from shared.settings import setting

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


@dataclass(frozen=True, slots=True)
class Settings:
    database_url: str = setting(help="the billing database, without a password: postgresql://role@host:port/db")
    database_password_file: str = setting("", help="file with the role's password; empty: none is needed")
    kafka_bootstrap_servers: str = setting("127.0.0.1:9092", help="host:port of a broker, several with commas")
    orders_topic: str = setting("orders.events", help="topic with the orders' events")
    consumer_group: str = setting("billing", help="Kafka group; also the consumer's name in the inbox")
    dedup_window_days: int = setting(
        DEDUP_WINDOW_DAYS, help="how many days the inbox knows what it has seen; older events are refused", minimum=1
    )
    longest_replay_days: int = setting(
        LONGEST_REPLAY_DAYS, help="how far back a replay may reach; at most dedup_window_days", minimum=0
    )
    outbox_kept_days: int = setting(
        OUTBOX_KEPT_DAYS,
        help="how many days a published event stays in the outbox, for rewinds",
        minimum=0,
    )
    discarded_kept_days: int = setting(
        DISCARDED_KEPT_DAYS, help="how many days an entry that was given up stays in a parking lot", minimum=1
    )
    group_protocol: str = setting("consumer", help="Kafka's group protocol", choices=GROUP_PROTOCOLS)
    max_poll_interval_seconds: float = setting(
        60.0, help="how long a batch may take before the group gives its partitions to another", minimum=6
    )
    batch_size: int = setting(500, help="most events in one transaction", minimum=1)
    instance: str = setting("billing", help="the process's name in logs and in the database's activity view")
    admin_token_file: str = setting("", help="file with the bearer token of /admin; empty: no such endpoints")
    http_host: str = setting("127.0.0.1", help="address of the read-only API")
    http_port: int = setting(8082, help="port of the read-only API", minimum=1)
    http_workers: int = setting(1, help="gunicorn workers of the API", minimum=1)
    metrics_host: str = setting("127.0.0.1", help="address of the consumer's /metrics")
    metrics_port: int = setting(0, help="port of the consumer's /metrics; 0: none", minimum=0)
    redis_url: str = setting("redis://127.0.0.1:6379/0", help="the queues' Redis")
    celery_queue: str = setting("notifications", help="queue that commands to send mails go to")
    housekeeping_queue: str = setting("billing.housekeeping", help="the housekeeper's own queue")
    mail_overdue_seconds: float = setting(
        120.0, help="how long an invoice's mail may be silent before it is commanded again", minimum=1
    )
    mail_overdue_ceiling_seconds: float = setting(3600.0, help="longest wait between two reminders", minimum=1)
    mail_reminders: int = setting(
        20, help="how often a silent mail is commanded again before it is given up", minimum=0
    )
    mail_check_seconds: float = setting(30.0, help="how often silent mails are looked for", minimum=0.5)
    log_level: str = setting("INFO", help="least severe line that is logged", choices=LEVELS)
