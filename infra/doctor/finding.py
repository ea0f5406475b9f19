"""What a check says: how bad it is, what was found, and what to do."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    """The system runs, perhaps badly."""
    FAULT = "fault"
    """The system will not run."""


@dataclass(frozen=True, slots=True)
class Finding:
    level: Level
    subject: str
    found: str
    cure: str = ""


def ok(subject: str, found: str) -> Finding:
    return Finding(Level.OK, subject, found)


def warning(subject: str, found: str, cure: str) -> Finding:
    return Finding(Level.WARNING, subject, found, cure)


def fault(subject: str, found: str, cure: str) -> Finding:
    return Finding(Level.FAULT, subject, found, cure)
