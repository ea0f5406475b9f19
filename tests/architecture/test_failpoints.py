"""Failpoints: a closed list, each reached at one place of the code and used by a scenario."""

import re
from collections import Counter
from pathlib import Path

from shared.failpoints import Failpoint

PROJECT = Path(__file__).parents[2]


def _text(folder: str) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((PROJECT / folder).rglob("*.py")))


def test_each_is_reached_exactly_once() -> None:
    code = _text("services") + _text("shared")
    reached = Counter(re.findall(r"\breach\((?:failpoints\.)?Failpoint\.(\w+)\)", code))
    assert reached == dict.fromkeys(Failpoint.__members__, 1)


def test_services_never_arm_one() -> None:
    assert not re.search(r"\bfailpoints\.arm\b|\bimport .*\barm\b", _text("services"))
