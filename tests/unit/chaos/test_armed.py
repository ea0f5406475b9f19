"""Failpoints armed from outside."""

import json
from pathlib import Path

import pytest

from chaos import armed
from chaos.armed import ArmedHook, Arming, ArmingError, parse
from shared.failpoints import Failpoint

PUBLISHED = Failpoint.RELAY_AFTER_PUBLISH_BEFORE_SETTLE
READ = Failpoint.RELAY_AFTER_READ_BEFORE_PUBLISH


@pytest.fixture
def acts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect what would be done, since the real action ends the process."""
    done: list[str] = []
    monkeypatch.setattr(armed, "act", done.append)
    return done


def hook(tmp_path: Path, fixed: str = "") -> ArmedHook:
    return ArmedHook("relay-1", tmp_path, tmp_path / "faults.jsonl", fixed)


def test_an_arming_reads_as_it_is_written() -> None:
    """Point, action, count and fault survive being written and read again."""
    arming = Arming(PUBLISHED, "exit", 3, "kill-a-relay")
    assert parse(f"{arming}\n") == [arming]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("relay.after_publish_before_settle=exit", Arming(PUBLISHED, "exit")),
        ("relay.after_publish_before_settle=sleep:0.5@2", Arming(PUBLISHED, "sleep:0.5", 2)),
        ("relay.after_publish_before_settle=stop zombie", Arming(PUBLISHED, "stop", 1, "zombie")),
    ],
)
def test_what_is_left_out_has_a_default(text: str, expected: Arming) -> None:
    """Without a count the first time counts; a fault without a name is called failpoint."""
    assert parse(text) == [expected]


@pytest.mark.parametrize("text", ["relay.no_such_point=exit", "relay.after_publish_before_settle=explode", "nonsense"])
def test_a_misspelt_arming_is_refused(text: str) -> None:
    """A failpoint that nobody will ever reach must not pass as a fault that did not bite."""
    with pytest.raises(ArmingError):
        parse(text)


def test_the_count_decides_which_time_it_bites(tmp_path: Path, acts: list[str]) -> None:
    """Armed for the third time, the first two go by, and so does a fourth."""
    arms = hook(tmp_path, "relay.after_publish_before_settle=exit@3")
    for _ in range(4):
        arms(PUBLISHED)
        arms(READ)
    assert acts == ["exit"]


def test_a_running_process_is_armed_by_a_file(tmp_path: Path, acts: list[str]) -> None:
    """The file is looked at whenever a point is reached, and taken away when it has bitten."""
    arms = hook(tmp_path)
    arms(PUBLISHED)
    armed.arm(tmp_path, "relay-1", Arming(PUBLISHED, "exit", 1, "kill-a-relay"))
    arms(PUBLISHED)
    arms(PUBLISHED)
    assert acts == ["exit"]
    assert not (tmp_path / "relay-1").exists()


def test_the_evidence_is_there_before_the_action(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the moment of the action the hit is on disk, with the fault, the process and the point."""
    seen: list[dict[str, object]] = []

    def look(_action: str) -> None:
        seen.append(json.loads((tmp_path / "faults.jsonl").read_text()))

    monkeypatch.setattr(armed, "act", look)
    hook(tmp_path, "relay.after_publish_before_settle=exit kill-a-relay")(PUBLISHED)
    (hit,) = seen
    assert (hit["fault"], hit["phase"], hit["target"]) == ("kill-a-relay", "hit", "relay-1")
    assert hit["failpoint"] == "relay.after_publish_before_settle"


def test_disarming_takes_effect(tmp_path: Path, acts: list[str]) -> None:
    """What was armed and never reached does not bite after it has been taken back."""
    arms = hook(tmp_path)
    armed.arm(tmp_path, "relay-1", Arming(PUBLISHED, "exit", 2))
    arms(PUBLISHED)
    armed.disarm(tmp_path, "relay-1")
    arms(PUBLISHED)
    assert acts == []
