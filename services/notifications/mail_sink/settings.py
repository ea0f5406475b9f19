"""The mail sink's settings. A field's name in capitals is its variable."""

from dataclasses import dataclass

from shared.settings import setting

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


@dataclass(frozen=True, slots=True)
class Settings:
    mail_journal: str = setting(help="file of JSON lines, one for each accepted e-mail")
    smtp_host: str = setting("127.0.0.1", help="address to listen on")
    smtp_port: int = setting(8025, help="port to listen on", minimum=1)
    largest_mail_bytes: int = setting(1_048_576, help="largest message that is accepted", minimum=1)
    lose_answer_every: int = setting(
        0,
        help="take every so-many-th e-mail and hang up instead of saying so, as a bad line would; 0: never",
        minimum=0,
    )
    instance: str = setting("mail-sink", help="the process's name in logs")
    metrics_host: str = setting("127.0.0.1", help="address of /metrics")
    metrics_port: int = setting(0, help="port of /metrics; 0: none", minimum=0)
    log_level: str = setting("INFO", help="least severe line that is logged", choices=LEVELS)
