"""The page of settings: every environment variable of every service, and of the local stack."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from infra.local.environment import PASSED_ON
from infra.reference.described import described
from infra.reference.markdown import code, page, table

UNITS: Final = {"SECONDS": "seconds", "DAYS": "days", "BYTES": "bytes", "EVENTS": "events", "PORT": "port"}

LOCAL: Final[Mapping[str, str]] = {
    "STACK": "`local` (default) or `compose`: on which stack `once` and `make` work",
    "ONCE_HOME": "folder for data, logs and passwords, on a local disk; default: `.once` in the project",
    "ONCE_PROFILE": "containers: `cluster` or `small` ([the cluster](../cluster.md)); default: `small`",
    "ONCE_PORT_…": "a process's port, by its name in `once status`: `ONCE_PORT_ORDERS_API`; default: a free block",
    "ONCE_WHEELS": "set-up: folder with wheels, instead of a package index",
    "ONCE_JARS": "set-up: folder with Kafka's jars, instead of a repository",
    "ONCE_MAVEN_MIRROR": "set-up: another repository of jars",
    "ONCE_VERSION": "containers: tag of the images; stands in `.env`",
    "ONCE_COMMAND": "how the command is called in what it prints; set by what calls it in a container",
}
"""Variables that are read outside of a dataclass of settings."""


def text() -> str:
    return page(
        "Settings",
        "A field's name in capitals is its variable. A wrong or missing value stops the start with the variable's "
        "name, what is wrong with it and what it should be (exit status 78). No password is in a variable: it names a "
        "file.",
        "The local stack sets addresses, ports and names by itself. From your environment it hands on what begins with "
        f"{', '.join(code(each) for each in PASSED_ON)}.",
        *_sections(),
        "## The local stack and set-up",
        table(("variable", "what it is"), ((code(name), what) for name, what in LOCAL.items())),
    )


def _sections() -> Iterator[str]:
    for each in sorted(described()["settings"], key=_place):
        yield f"## {_title(each)}"
        yield table(("variable", "default", "unit", "what it is"), map(_row, each["fields"]))


def _place(described_class: Mapping[str, Any]) -> tuple[bool, str]:
    """Sort services before one-shots, and a service's own settings before those of its operators."""
    module = str(described_class["module"])
    return module.startswith("infra."), module.removesuffix(".settings")


def _title(described_class: Mapping[str, Any]) -> str:
    module = described_class["module"].removesuffix(".settings")
    name = described_class["class"]
    return f"`{module}`" if name == "Settings" else f"`{module}`: {name.removesuffix('Settings').lower()}"


def _row(setting: Mapping[str, Any]) -> tuple[str, str, str, str]:
    rules = []
    if setting["choices"]:
        rules.append(f"one of {', '.join(code(each) for each in setting['choices'])}")
    if setting["minimum"] is not None and not setting["variable"].endswith("_PORT"):
        rules.append(f"at least {setting['minimum']:g}")
    what = "; ".join([setting["help"], *rules])
    return code(setting["variable"]), _default(setting), _unit(setting["variable"]), what


def _default(setting: Mapping[str, Any]) -> str:
    if setting["required"]:
        return "**required**"
    value = setting["default"]
    if value in ("", []):
        return "(empty)"
    return code(",".join(value) if isinstance(value, list) else f"{value:g}" if isinstance(value, float) else value)


def _unit(variable: str) -> str:
    return UNITS.get(variable.rpartition("_")[2], "")
