"""The page of errors: problem types, exit codes, and the exceptions with what becomes of them."""

import ast
import re
from collections.abc import Iterator, Mapping
from textwrap import dedent
from typing import Any, Final

from chaos.checker.result import Status
from infra.cli import COULD_NOT_RUN
from infra.local.home import PROJECT
from infra.reference.markdown import code, page, table

VERDICTS: Final[Mapping[Status, str]] = {
    Status.PASS: "everything that was promised held, and something was tried",
    Status.FAIL: "a rule was broken; the report names the first order",
    Status.UNKNOWN: "evidence is missing or unreadable, so nothing can be said",
    Status.VACUOUS: "no rule was broken, and the fault did not bite or nothing happened",
    Status.CHECKER_DEAD: "the judge did not find what was planted for it, so its word counts for nothing",
}
TITLES: Final = ("services/orders/openapi.py", "services/orders/api.py", "services/billing/api.py", "shared/http")
_PROBLEM_TYPE: Final = re.compile(r"urn:problem-type:[\w-]+")


def text(openapi: Mapping[str, dict[str, Any]]) -> str:
    return page(
        "Errors",
        "## Exit codes",
        "Of `once demo`, `once chaos run`, `once load` and `python -m chaos.checker`: the verdict.",
        table(("code", "name", "means"), ((str(each.exit_code), each.value, what) for each, what in VERDICTS.items())),
        f"Of every `once` command: {COULD_NOT_RUN} when it could not do its work (the sentence says why), 2 for a "
        "command line that cannot be read.",
        "Of services: 0 after SIGTERM, with the work in hand finished; 78 (`EX_CONFIG`) when a person has to mend "
        "something first: wrong settings, a database that must not be gone on with. A supervisor starts all others "
        "again.",
        "## Problem types",
        "What stands in `type` of a problem document; programs compare it, people read `title` and `detail`. A status "
        "that is not listed has a type made of its HTTP phrase (`urn:problem-type:not-found`). 503 comes with "
        "`Retry-After`: the same request may succeed soon.",
        table(("type", "status", "of"), _problem_types(openapi)),
        "## Exceptions",
        *(part for path in _error_files() for part in _tree(path)),
    )


def _problem_types(openapi: Mapping[str, dict[str, Any]]) -> list[tuple[str, str, str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for where, status, description in (each for document in openapi.values() for each in _answers(document)):
        for name in _PROBLEM_TYPE.findall(description):
            found.setdefault((name, status), []).append(where)
    for status, name, where in _said():
        if not any(known == name for known, _status in found):
            found[name, status] = [where]
    return [(code(name), status, ", ".join(map(code, where))) for (name, status), where in sorted(found.items())]


def _answers(openapi: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Return endpoint, status and description of everything that a service may answer."""
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            for status, answer in operation["responses"].items():
                yield f"{method.upper()} {path}", status, answer["description"]


def _said() -> Iterator[tuple[str, str, str]]:
    """Return the problems that code makes by a status and a title, with the file."""
    for place in TITLES:
        root = PROJECT / place
        for path in sorted(root.rglob("*.py")) if root.is_dir() else [root]:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                match node:
                    case ast.Call(
                        func=ast.Name(id="problem"),
                        args=[ast.Constant(value=int(status)), ast.Constant(value=str(title)), *_],
                    ):
                        yield str(status), _type_of(title), str(path.relative_to(PROJECT))


def _type_of(title: str) -> str:
    return "urn:problem-type:" + re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _error_files() -> list[str]:
    return [
        "shared/errors.py",
        *sorted(str(path.relative_to(PROJECT)) for path in PROJECT.glob("services/*/errors.py")),
    ]


def _tree(name: str) -> Iterator[str]:
    """Return what a module of errors says of itself."""
    doc = ast.get_docstring(ast.parse((PROJECT / name).read_text(encoding="utf-8"))) or ""
    head, _, rest = doc.partition("\n\n")
    yield f"### `{name}`"
    yield head
    drawn, _, after = rest.partition("\n\n")
    if drawn.strip():
        yield f"```text\n{dedent(drawn)}\n```"
    if after.strip():
        yield after
