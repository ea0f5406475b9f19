"""The page of commands: ``once`` with all verbs, as click knows them, and the targets of make."""

import re
from collections.abc import Iterator
from pathlib import Path

import click

from infra.cli import once
from infra.local.home import PROJECT
from infra.reference.markdown import code, page, table


def text() -> str:
    targets = re.findall(r"^([a-z-]+):.*## (.*)$", (PROJECT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    return page(
        "Commands",
        "`once` is in `.venv/bin`. With `STACK=compose` the same commands work on containers. Exit codes: "
        "[errors](errors.md#exit-codes).",
        *_sections(once, ("once",)),
        "## make",
        table(("target", "what it does"), ((code(f"make {name}"), what) for name, what in targets)),
    )


def _sections(group: click.Group, path: tuple[str, ...]) -> Iterator[str]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        yield f"{'#' * min(len(path) + 1, 3)} {' '.join((*path, name))}"
        yield from _command(command, (*path, name))
        if isinstance(command, click.Group):
            yield from _sections(command, (*path, name))


def _command(command: click.Command, path: tuple[str, ...]) -> Iterator[str]:
    context = click.Context(command, info_name=" ".join(path))
    yield "```text\n" + " ".join([" ".join(path), *command.collect_usage_pieces(context)]) + "\n```"
    if command.help:
        yield re.sub(r"\s*\n\s*", " ", command.help.replace("\b", "").strip())
    options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
    if options:
        yield table(("option", "what it does"), map(_option, options))


def _option(option: click.Option) -> tuple[str, str]:
    names = ", ".join(code(each) for each in (*option.opts, *option.secondary_opts))
    takes = "" if option.is_flag or option.count else f" {option.make_metavar(click.Context(click.Command('once')))}"
    default = _told(option.default)
    shown = default not in (None, False, "", ()) and not callable(default) and "Sentinel" not in repr(type(default))
    return names + takes, (option.help or "") + (f" Default: {default}." if shown else "")


def _told(default: object) -> object:
    """Name a place in the project as it is in every checkout."""
    if isinstance(default, Path) and default.is_relative_to(PROJECT):
        return default.relative_to(PROJECT)
    return default
