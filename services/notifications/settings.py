"""Notifications' settings. A field's name in capitals is its variable."""

from dataclasses import dataclass

from shared.errors import ConfigurationError
from shared.settings import setting

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


@dataclass(frozen=True, slots=True)
class Settings:
    database_url: str = setting(help="the notifications database, without a password: postgresql://role@host:port/db")
    database_password_file: str = setting("", help="file with the role's password; empty: none is needed")
    redis_url: str = setting("redis://127.0.0.1:6379/0", help="the queue's Redis")
    celery_queue: str = setting("notifications", help="name of the queue")
    notes_queue: str = setting("billing.housekeeping", help="queue of billing's housekeeper, who is told what was sent")
    smtp_host: str = setting("127.0.0.1", help="mail server")
    smtp_port: int = setting(8025, help="mail server's port", minimum=1)
    smtp_timeout_seconds: float = setting(5.0, help="longest wait for one answer of the mail server", minimum=0.1)
    mail_from: str = setting("invoices@effectively-once.invalid", help="sender of the e-mails")
    sending_lease_seconds: float = setting(20.0, help="how long a mail is left to the worker that sends it", minimum=1)
    retry_ceiling_seconds: int = setting(10, help="longest pause before a mail is tried again", minimum=1)
    retries: int = setting(100, help="how often a mail is tried again before it is given up", minimum=0)
    visibility_timeout_seconds: int = setting(45, help="after which the queue takes a worker for dead", minimum=1)
    instance: str = setting("notifications", help="the process's name in logs and in the database's activity view")
    metrics_host: str = setting("127.0.0.1", help="address of /metrics")
    metrics_port: int = setting(0, help="port of /metrics; 0: none", minimum=0)
    log_level: str = setting("INFO", help="least severe line that is logged", choices=LEVELS)

    def __post_init__(self) -> None:
        longest = self.retry_ceiling_seconds + self.sending_lease_seconds
        if self.visibility_timeout_seconds <= longest:
            raise ConfigurationError(
                f"VISIBILITY_TIMEOUT_SECONDS={self.visibility_timeout_seconds} is not above RETRY_CEILING_SECONDS + "
                f"SENDING_LEASE_SECONDS = {longest:g}, so the queue would deliver mails again that merely wait. "
                "Raise it, or lower one of the others."
            )
