"""Describe a service to whoever writes documents: ``python -m shared.described services shared``.

Imports every module of a package, which does nothing but define, and prints as JSON what can be set and what is
counted. So the documents say what the code says, and nobody outside needs to know a service's insides.
"""

import ast
import importlib
import inspect
import json
import pkgutil
import sys
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints

from prometheus_client.metrics import MetricWrapperBase

_LEFT_OUT = ("__main__", "migrations")


def modules(package: str) -> Iterator[str]:
    """Import all of a package and return the modules' names; a module alone is itself."""
    yield package
    found = importlib.import_module(package)
    for each in pkgutil.walk_packages(getattr(found, "__path__", ()), f"{package}."):
        if not set(each.name.split(".")) & set(_LEFT_OUT):
            importlib.import_module(each.name)
            yield each.name


def settings_in(module: str) -> Iterator[dict[str, Any]]:
    """Describe the classes of a module whose fields are settings."""
    for name, kind in vars(sys.modules[module]).items():
        if isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == module and _is_settings(kind):
            hints = get_type_hints(kind)
            yield {"class": name, "module": module, "fields": [_field(each, hints[each.name]) for each in fields(kind)]}


def _is_settings(kind: Any) -> bool:
    return bool(fields(kind)) and all("help" in each.metadata for each in fields(kind))


def _field(each: Any, hint: Any) -> dict[str, Any]:
    required = each.default is MISSING
    return {
        "variable": each.name.upper(),
        "type": getattr(hint, "__name__", str(hint)) if hint in (str, int, float, bool) else "list",
        "required": required,
        "default": None if required else each.default,
        "help": each.metadata["help"],
        "minimum": each.metadata["minimum"],
        "choices": each.metadata["choices"],
    }


def metrics_in(module: str) -> Iterator[dict[str, Any]]:
    """Describe what a module counts: what it makes itself, and not what it imports from another."""
    made = ast.parse(inspect.getsource(sys.modules[module])).body
    names = {target.id for node in made for target in _targets(node) if isinstance(target, ast.Name)}
    for name, collector in vars(sys.modules[module]).items():
        if name in names and isinstance(collector, MetricWrapperBase):
            for family in collector.describe():
                full = f"{family.name}_total" if family.type == "counter" else family.name
                labels = list(collector._labelnames)
                yield {"name": full, "type": family.type, "help": family.documentation, "labels": labels}


def _targets(node: ast.stmt) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) else []


def main() -> None:
    names = [name for package in sys.argv[1:] for name in modules(package)]
    found = {
        "settings": [each for name in names for each in settings_in(name)],
        "metrics": {name: counted for name in names if (counted := list(metrics_in(name)))},
        "docs": {name: (sys.modules[name].__doc__ or "").strip().splitlines()[:1] for name in names},
    }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
