"""What the command line says when it cannot do what it was asked: a sentence and an exit code, never a stack trace."""

from pathlib import Path

import click
import pytest

from infra import cli
from infra.cli import order
from infra.cli.chaos import check
from infra.local.errors import StackError


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int | str | None:
    monkeypatch.setattr("sys.argv", ["once", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code


def test_a_file_that_may_not_be_read_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As when the home is another user's."""

    @click.command()
    def refused() -> None:
        raise PermissionError(13, "Permission denied", "/home/ada/.once/lock")

    monkeypatch.setattr(cli, "VERBS", {"refused": "unused:unused"})
    monkeypatch.setattr(cli._Verbs, "get_command", lambda *_: refused)
    assert run(monkeypatch, "refused") == cli.COULD_NOT_RUN
    said = " ".join(capsys.readouterr().err.split())
    assert "/home/ada/.once/lock cannot be used: Permission denied." in said
    assert "ONCE_HOME" in said


def test_a_folder_without_evidence_is_not_judged(tmp_path: Path) -> None:
    """And nothing is written into it."""
    with pytest.raises(click.BadParameter, match="no evidence"):
        check.main([str(tmp_path)], standalone_mode=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["no-such-verb"], ["demo", "--seconds", "many"], ["trace"], ["trace", "nonsense"]])
def test_a_wrong_word_is_no_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    """Exit codes 0 to 4 are verdicts; a command that could not be understood has none of them."""
    assert run(monkeypatch, *words) == cli.COULD_NOT_RUN
    assert capsys.readouterr().err


def test_a_stack_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Rather than taken for the local one."""
    monkeypatch.setenv("STACK", "docker")
    assert run(monkeypatch, "status") == cli.COULD_NOT_RUN
    assert "STACK=compose" in capsys.readouterr().err


@pytest.mark.parametrize("key", ["clé-漢", "two\nlines"])
def test_a_key_that_cannot_be_sent_is_named(key: str) -> None:
    """The client's own library refuses it, or would cut the request in two."""
    with pytest.raises(StackError, match="cannot stand in a header"):
        order._post("http://127.0.0.1:9/orders", key, "{}")
