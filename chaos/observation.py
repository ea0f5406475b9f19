"""Everything that is written down at the end of a run, from all of its sources at once."""

import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

from chaos import observe, owners
from chaos.deliveries import read_all
from chaos.history import Delivery, Mail, OwnerMark, ProcessMark
from chaos.scenario import Workload
from infra.local.deployment import Deployment
from infra.local.services import DATABASES
from infra.local.stack import LocalStack


class Observation:
    """The end of one run. The processes have stopped, so nothing moves while it is written."""

    def __init__(self, stack: LocalStack, deployment: Deployment, evidence: Path) -> None:
        self._stack = stack
        self._deployment = deployment
        self._evidence = evidence

    def write(self, groups: Mapping[str, list[str]], workload: Workload) -> None:
        kafka, run, prefix = self._stack.servers.kafka, self._deployment.namespace, f"{self._deployment.namespace}."
        evidence = self._evidence
        steps: tuple[Callable[[], object], ...] = (
            lambda: observe.dump_databases(database_urls(self._deployment), prefix, evidence),
            lambda: observe.dump_offsets(kafka, groups, prefix, evidence / "offsets.json"),
            lambda: observe.dump_deliveries(read_all(consumer_logs(self._deployment), run), evidence / Delivery.file),
            lambda: observe.copy_mail(self._deployment.mail_journal, evidence / Mail.file),
            lambda: observe.dump_owners(owners.read_all(self._holders(), run), evidence / OwnerMark.file),
            lambda: observe.dump_processes(self._happenings(), evidence / ProcessMark.file),
            lambda: self._write_environment(workload),
        )
        with ThreadPoolExecutor(max_workers=3, thread_name_prefix="observer") as pool:
            for done in [pool.submit(step) for step in steps]:
                done.result()

    def _holders(self) -> list[Path]:
        """The logs of those who hold lanes or partitions."""
        relays = [self._deployment.log_file(name) for name in self._deployment.programs if name.startswith("relay-")]
        return relays + consumer_logs(self._deployment)

    def _happenings(self) -> Iterable[tuple[datetime, str, int | None, str]]:
        return (
            (each.at, each.name, each.pid, each.what) for each in self._deployment.supervisor().history().happenings
        )

    def _write_environment(self, workload: Workload) -> None:
        found = observe.environment(self._deployment.superuser_url("orders"), self._stack.servers.kafka)
        found["workload"] = {name: getattr(workload, name) for name in workload.__slots__}
        (self._evidence / "env.json").write_text(json.dumps(found, indent=2) + "\n")


def database_urls(deployment: Deployment) -> dict[str, str]:
    return {database: deployment.superuser_url(database) for database in DATABASES}


def consumer_logs(deployment: Deployment) -> list[Path]:
    return [deployment.log_file(name) for name, program in deployment.programs.items() if program.group]
