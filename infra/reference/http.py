"""The page of the HTTP APIs: from its OpenAPI document where a service has one, else from the routes in the code."""

import ast
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from infra.local.home import PROJECT
from infra.reference.markdown import code, page, table

VERBS: Final = ("get", "post", "put", "delete", "patch")
LIMITS: Final = {
    "minimum": "≥ {}",
    "maximum": "≤ {}",
    "format": "{}",
    "pattern": "`{}`",
    "minItems": "≥ {} items",
    "maxItems": "≤ {} items",
    "minLength": "≥ {} characters",
    "maxLength": "≤ {} characters",
}


def text(openapi: Mapping[str, dict[str, Any]]) -> str:
    """Return the page; ``openapi`` is what each service that has a contract says of itself."""
    return page(
        "HTTP",
        "Errors are problem documents (RFC 9457); [errors](errors.md) has their types. Amounts are integers in the "
        "minor unit of their currency. Endpoints below `/admin` want the bearer token of `ADMIN_TOKEN_FILE`.",
        *(part for service, document in openapi.items() for part in _contract(service, document)),
        "## billing",
        table(("endpoint", "of", "handled by"), _routes(("services/billing",))),
        "## orders, for operators",
        table(("endpoint", "of", "handled by"), _routes(("services/orders",), only="/admin")),
        "## Parking lots, the same for every service that has one",
        table(("endpoint", "of", "handled by"), _routes(("shared/http/parked.py",))),
        "## Every API",
        table(("endpoint", "of", "handled by"), _routes(("shared/http/endpoints.py",))),
    )


def _contract(service: str, openapi: dict[str, Any]) -> Iterator[str]:
    yield f"## {service}"
    about = openapi["info"].get("description", "")
    yield f"{about} The whole contract: [{service}.openapi.json](../contracts/{service}.openapi.json).".lstrip()
    yield from _operations(openapi)
    yield f"### Bodies of {service}"
    for name, schema in openapi["components"]["schemas"].items():
        yield from _schema(name, schema)


def _operations(openapi: dict[str, Any]) -> Iterator[str]:
    """Return a section for each endpoint: what it does, what it is asked with, what it answers."""
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            yield f"### {code(f'{method.upper()} {path}')}"
            yield operation["summary"]
            if parameters := operation.get("parameters"):
                yield "Asked with " + "; ".join(_parameter(each) for each in parameters) + "."
            yield table(
                ("status", "answer"), ((status, _what(each)) for status, each in operation["responses"].items())
            )


def _parameter(parameter: dict[str, Any]) -> str:
    """Say a parameter's name, place and type, and whether it may be left out."""
    needed = "" if parameter.get("required") else ", optional"
    default = parameter["schema"].get("default")
    fallback = "" if default is None else f", default {code(default)}"
    return f"{code(parameter['name'])} ({parameter['in']}{needed}): {kind(parameter['schema'])}{fallback}"


def _what(answer: dict[str, Any]) -> str:
    return str(answer["description"]).rstrip(".").replace("urn:problem-type:", "")


def _schema(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield f"**{name}**"
    required = schema.get("required", [])
    rows = (
        (code(each), kind(rule), "yes" if each in required else "no") for each, rule in schema["properties"].items()
    )
    yield table(("field", "type", "required"), rows)


def kind(rule: dict[str, Any]) -> str:
    """Say a JSON Schema's type in a few words."""
    if "$ref" in rule:
        return str(rule["$ref"]).rpartition("/")[2]
    if "anyOf" in rule:
        return " or ".join(kind(each) for each in rule["anyOf"])
    if "enum" in rule:
        return "one of " + ", ".join(code(json.dumps(each)) for each in rule["enum"])
    words = str(rule.get("type", "any"))
    if words == "array":
        words = f"array of {kind(rule.get('items', {}))}"
    return ", ".join([words, *(said.format(rule[name]) for name, said in LIMITS.items() if name in rule)])


def _routes(places: tuple[str, ...], only: str = "") -> Iterator[tuple[str, str, str]]:
    """Return the routes that decorators in these files declare."""
    for place in places:
        root = PROJECT / place
        for path in sorted(root.rglob("*.py")) if root.is_dir() else [root]:
            yield from _routes_in(path, only)


def _routes_in(path: Path, only: str) -> Iterator[tuple[str, str, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    prefix = _prefix(tree)
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        for decorator in function.decorator_list:
            verb, route = _route(decorator)
            if verb in VERBS and only in prefix + route:
                where = str(path.relative_to(PROJECT))
                yield code(f"{verb.upper()} {prefix}{route}"), where, function.name.replace("_", " ")


def _route(decorator: ast.expr) -> tuple[str, str]:
    match decorator:
        case ast.Call(func=ast.Attribute(attr=verb), args=[ast.Constant(value=str(route)), *_]):
            return verb, route
    return "", ""


def _prefix(tree: ast.AST) -> str:
    """Return the path that a module's blueprint puts before its routes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "url_prefix" and isinstance(node.value, ast.Constant):
            return str(node.value.value)
    return ""
