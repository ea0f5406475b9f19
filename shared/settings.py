"""Read a service's settings from the environment, once, into a frozen dataclass.

A field's name in capitals is its variable. A wrong or missing value stops the start with the variable's name, what
was wrong with it and what it should be; nothing else in the code base reads the environment.
"""

import math
from collections.abc import Mapping
from dataclasses import MISSING, field, fields
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from shared.errors import ConfigurationError

T = TypeVar("T")

LARGEST_PORT = 65_535

_TRUE, _FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}


def setting(
    default: Any = MISSING,
    *,
    help: str,
    minimum: float | None = None,
    choices: tuple[str, ...] | None = None,
) -> Any:
    """Declare one setting; without a default it is required. Units belong in the field's name."""
    return field(default=default, metadata={"help": help, "minimum": minimum, "choices": choices})


def read(cls: type[T], environ: Mapping[str, str]) -> T:
    """Build ``cls`` from the environment.

    Raises ConfigurationError that names every variable at fault, not only the first.
    """
    hints = get_type_hints(cls)
    values: dict[str, Any] = {}
    faults: list[str] = []
    for each in fields(cls):  # type: ignore[arg-type]  # cls is a dataclass, which the type system cannot say
        variable = each.name.upper()
        text = environ.get(variable)
        if text is None:
            if each.default is MISSING:
                faults.append(f"{variable} is not set: {each.metadata['help']}")
            continue
        try:
            values[each.name] = _convert(text, hints[each.name], each.metadata)
            _check(each.name, values[each.name], required=each.default is MISSING)
        except ValueError as error:
            faults.append(f"{variable}={text!r} is wrong: {error} ({each.metadata['help']})")
    if faults:
        raise ConfigurationError("The settings are not usable. " + "; ".join(faults) + ". Set them and start again.")
    return cls(**values)


def read_secret(path: str) -> str:
    """Return the secret kept in a file, without its line end. Raises ConfigurationError when it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigurationError(
            f"The secret file {path} cannot be read ({error.strerror}). "
            "Create it with mode 0600, or point the variable at the right file."
        ) from error


def _convert(text: str, kind: Any, rules: Mapping[str, Any]) -> Any:
    value: Any
    if kind is bool:
        value = _boolean(text)
    elif kind in (int, float):
        value = _number(text, kind)
    elif kind == tuple[str, ...]:
        value = tuple(part.strip() for part in text.split(",") if part.strip())
    else:
        value = text
    if rules["choices"] and any(v not in rules["choices"] for v in (value if isinstance(value, tuple) else (value,))):
        raise ValueError(f"expected one of {', '.join(rules['choices'])}")
    if rules["minimum"] is not None and value < rules["minimum"]:
        raise ValueError(f"expected at least {rules['minimum']}")
    return value


def _check(name: str, value: Any, *, required: bool) -> None:
    """Hold a value against what its field's name and place say of it."""
    if name.endswith("_port") and value > LARGEST_PORT:
        raise ValueError(f"expected a port, at most {LARGEST_PORT}")
    if value == () or (required and value == ""):
        raise ValueError("expected something, and it is empty")


def _number(text: str, kind: Any) -> Any:
    try:
        value = kind(text)
    except ValueError:
        raise ValueError(f"expected {'a whole number' if kind is int else 'a number'}") from None
    if kind is float and not math.isfinite(value):
        raise ValueError("expected a finite number")
    return value


def _boolean(text: str) -> bool:
    if text.lower() in _TRUE | _FALSE:
        return text.lower() in _TRUE
    raise ValueError("expected one of 1, 0, true, false, yes, no, on, off")
