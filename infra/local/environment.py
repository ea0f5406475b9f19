"""The environment of a process of ours: addresses, names, secrets' files, and what a person may tune."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from infra.local.home import PROJECT
from infra.local.ports import HOST
from infra.local.services import Program, in_namespace

if TYPE_CHECKING:
    from infra.local.deployment import Deployment
    from infra.local.stack import LocalStack

PASSED_ON = (
    "RELAY_",
    "CONSUMER_",
    "MAIL_OVERDUE_",
    "MAIL_CHECK_",
    "MAIL_REMINDERS",
    "DEDUP_WINDOW_",
    "LONGEST_REPLAY_",
    "OUTBOX_KEPT_",
    "DISCARDED_KEPT_",
    "HTTP_WORKERS",
    "GROUP_PROTOCOL",
    "LOG_LEVEL",
    "BATCH_SIZE",
    "MAIL_FROM",
    "OTEL_",
)
"""Variables that begin so are passed on from the environment of whoever starts the system."""


def of_process(
    deployment: "Deployment", stack: "LocalStack", program: Program, environ: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment of one process of a deployment. What its program says itself wins."""
    servers = {**_common(deployment, stack), **_database_of(deployment, stack, program)}
    servers |= _sources_of(deployment, stack, program)
    return {
        **dict(_tuning(environ)),
        **{variable: _by_another_way(value, program.through) for variable, value in servers.items()},
        **_listening(deployment, program),
        **({"CONSUMER_GROUP": in_namespace(program.group, deployment.namespace)} if program.group else {}),
        "INSTANCE": program.name,
        **program.environment,
    }


def _common(deployment: "Deployment", stack: "LocalStack") -> dict[str, str]:
    return {
        "KAFKA_BOOTSTRAP_SERVERS": stack.servers.kafka,
        "REDIS_URL": stack.redis_url(deployment.redis_database),
        "CELERY_QUEUE": deployment.celery_queue,
        **deployment.topics,
        "SMTP_HOST": _host_of_sink(deployment),
        "SMTP_PORT": str(_port_of_sink(deployment)),
        "MAIL_JOURNAL": str(deployment.mail_journal),
        "ADMIN_TOKEN_FILE": str(stack.home.secret_file("admin-token")),
        # The project's own code, also where the environment belongs to another checkout.
        "PYTHONPATH": str(PROJECT),
    }


def _database_of(deployment: "Deployment", stack: "LocalStack", program: Program) -> dict[str, str]:
    if program.database is None or program.role is None:
        return {}
    return {
        "DATABASE_URL": deployment.database_url(program.database, program.role),
        "DATABASE_PASSWORD_FILE": str(stack.home.secret_file(program.role)),
    }


def _sources_of(deployment: "Deployment", stack: "LocalStack", program: Program) -> dict[str, str]:
    """Say where a connector reads and writes: an address, a slot and a topic for each outbox."""
    found = {"CDC_SOURCES": ",".join(program.sources)} if program.sources else {}
    for kind in program.sources:
        name = kind.upper()
        found |= {
            f"{name}_DATABASE_URL": deployment.database_url(kind, f"{kind}_cdc"),
            f"{name}_PASSWORD_FILE": str(stack.home.secret_file(f"{kind}_cdc")),
            f"{name}_SLOT": deployment.slot(kind),
            f"{name}_HEARTBEAT_TOPIC": deployment.heartbeat_topic(kind),
        }
    return found


def _listening(deployment: "Deployment", program: Program) -> dict[str, str]:
    port = str(deployment.ports()[program.name])
    if program.listens == "connect":
        return {"HTTP_PORT": port}
    if program.listens == "http":
        folder = deployment.directory / "metrics" / program.name
        folder.mkdir(parents=True, exist_ok=True)
        return {"HTTP_HOST": deployment.listen_on, "HTTP_PORT": port, "PROMETHEUS_MULTIPROC_DIR": str(folder)}
    if program.listens == "smtp":
        return {"SMTP_HOST": deployment.listen_on, "SMTP_PORT": port}
    return {"METRICS_HOST": deployment.listen_on, "METRICS_PORT": port}


def _tuning(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Pass on what a person may tune by the environment."""
    return ((name, value) for name, value in environ.items() if name.startswith(PASSED_ON))


def _port_of_sink(deployment: "Deployment") -> int:
    return next((deployment.ports()[each.name] for each in deployment.programs.values() if each.listens == "smtp"), 0)


def _host_of_sink(deployment: "Deployment") -> str:
    return next((deployment.host(each.name) for each in deployment.programs.values() if each.listens == "smtp"), HOST)


def _by_another_way(value: str, through: Mapping[str, str]) -> str:
    for address, instead in through.items():
        value = value.replace(address, instead)
    return value
