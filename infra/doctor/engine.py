"""What keeps the system from running well in containers: the engine, what it is given, ports, and stale volumes.

Asked of Docker's own command line, since that is what will be used. Each judgement is a function of plain values, so
that it can be tested without an engine.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from gettext import gettext as _
from typing import Any

from infra.doctor.finding import Finding, fault, ok, warning
from infra.local import ports
from infra.local.home import PROJECT

ENGINE_WANTED = (26, 0)
"""The first that can mount one file of a volume, which is how secrets are handed out."""
COMPOSE_WANTED = (2, 26)
MEMORY_WANTED_BYTES = 2_500_000_000
ARCHITECTURES = {"x86_64", "amd64", "aarch64", "arm64"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command said; ``code`` is None when it is not there."""

    code: int | None
    text: str


def examine_engine() -> list[Finding]:
    engine = _ask("docker", "info", "--format", "{{json .}}")
    if engine.code != 0:
        return list(judge_absence(engine))
    info: dict[str, Any] = json.loads(engine.text)
    compose = _ask("docker", "compose", "version", "--short")
    findings = [
        *judge_version("Docker Engine", info.get("ServerVersion", ""), ENGINE_WANTED),
        *judge_version("Docker Compose", compose.text if compose.code == 0 else "", COMPOSE_WANTED),
        *judge_memory(int(info.get("MemTotal", 0))),
        *judge_architecture(info.get("Architecture", "")),
        *judge_proxy(info, os.environ),
    ]
    configured = _ask("docker", "compose", "--profile", "*", "config", "--format", "json")
    if configured.code != 0:
        return [*findings, fault("docker-compose.yml", configured.text, _("Get the file, and .env, back with git."))]
    model: dict[str, Any] = json.loads(configured.text)
    return [*findings, *_ports(model), *_stale_volumes(model)]


def judge_absence(engine: Answer) -> Iterator[Finding]:
    if engine.code is None:
        yield fault("Docker", _("There is no `docker` command."), _("Install Docker, or use STACK=local without it."))
    else:
        last = engine.text.splitlines()[-1] if engine.text else _("no answer")
        cure = _("Start Docker Desktop or the docker service, and see that you may use it; or use STACK=local.")
        yield fault("Docker", _("The engine does not answer: {why}").format(why=last), cure)


def judge_version(name: str, found: str, wanted: tuple[int, int]) -> Iterator[Finding]:
    parts = re.search(r"(\d+)\.(\d+)", found)
    if parts is None:
        yield fault(
            name, _("There is none, or an old one that does not tell its version."), _("Install a current Docker.")
        )
    elif (int(parts[1]), int(parts[2])) < wanted:
        asked = ".".join(map(str, wanted))
        yield fault(name, _("{found} is older than {wanted}.").format(found=found, wanted=asked), _("Update Docker."))
    else:
        yield ok(name, found)


def judge_memory(given: int) -> Iterator[Finding]:
    found = _("The engine has {given:.1f} GB.").format(given=given / 1e9)
    if given < MEMORY_WANTED_BYTES:
        yield warning(
            _("memory"),
            found,
            _("The system and a demo beside it want 2.5 GB: raise it in Docker Desktop, Settings, Resources."),
        )
    else:
        yield ok(_("memory"), found)


def judge_architecture(found: str) -> Iterator[Finding]:
    if found not in ARCHITECTURES:
        cure = _("Images exist for amd64 and arm64. Use STACK=local, or a machine of one of these kinds.")
        yield fault(_("architecture"), _("The engine runs on {found}.").format(found=found or "?"), cure)
    else:
        yield ok(_("architecture"), found)


def judge_proxy(info: Mapping[str, Any], environ: Mapping[str, str]) -> Iterator[Finding]:
    """Say when this shell goes through a proxy of which the engine knows nothing: its pulls would hang."""
    ours = environ.get("HTTPS_PROXY") or environ.get("https_proxy")
    if ours and not (info.get("HttpsProxy") or info.get("HTTPSProxy")):
        found = _("This shell uses a proxy, and the engine does not: it may not reach images.")
        yield warning(
            _("proxy"), found, _("Set it in Docker Desktop, Settings, Resources, Proxies (or in daemon.json).")
        )


def judge_port(service: str, port: int, holder: str) -> Finding:
    found = _("Port {port} for {service} is held by {holder}.").format(port=port, service=service, holder=holder)
    name = service.removesuffix("-api").upper().replace("-", "_")
    cure = _("Stop that process, or give {variable} another number (.env says how).").format(variable=f"{name}_PORT")
    return fault(_("ports"), found, cure)


def judge_data(found: list[str], wanted: str) -> Iterator[Finding]:
    """Judge the version folders in PostgreSQL's volume."""
    stale = [name for name in found if name.isdecimal() and name != wanted]
    if stale and wanted not in found:
        sentence = _("The volume was written by PostgreSQL {old}, and the image is {wanted}: it would start empty.")
        cure = _("Go back to the image that wrote it (POSTGRES_IMAGE), or delete the data: `docker compose down -v`.")
        yield fault(_("data"), sentence.format(old=", ".join(stale), wanted=wanted), cure)


def _ports(model: Mapping[str, Any]) -> list[Finding]:
    running = _ask("docker", "compose", "ps", "--services", "--status", "running").text.split()
    taken = [
        judge_port(name, int(each["published"]), ports.holder(int(each["published"])))
        for name, service in model["services"].items()
        if name not in running and (not service.get("profiles") or name in running)
        for each in service.get("ports", [])
        if not ports.is_free(int(each["published"]))
    ]
    return taken or [ok(_("ports"), _("Each is ours or free."))]


def _stale_volumes(model: Mapping[str, Any]) -> list[Finding]:
    volume, image = f"{model['name']}_postgres", model["services"]["postgres"]["image"]
    if _ask("docker", "volume", "inspect", volume).code != 0:
        return [ok(_("data"), _("None yet."))]
    options = ("--rm", "--network", "none", "--entrypoint", "ls", "-v", f"{volume}:/data:ro")
    listed = _ask("docker", "run", *options, image, "/data")
    wanted = re.search(r":(\d+)", image)
    judged = list(judge_data(listed.text.split(), wanted[1] if wanted else ""))
    return judged or [ok(_("data"), _("Nothing stale."))]


def _ask(*command: str) -> Answer:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=PROJECT)
    except FileNotFoundError:
        return Answer(None, "")
    except subprocess.TimeoutExpired:
        return Answer(1, _("no answer within a minute"))
    return Answer(done.returncode, (done.stdout if done.returncode == 0 else done.stderr).strip())
