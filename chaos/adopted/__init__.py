"""The order service as somebody else has built it (``examples``), in the place of ours in any scenario.

No guard is taken out, so nothing may turn red: every rule of the judge must hold. Each module here is an example's own
application with one thing laid around it, the failpoint between commit and answer, at which scenarios kill.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from chaos.unsafe import Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted(Variant):
    """``guard`` is the word after ``--orders``; ``scenario`` the one that it is tried in first."""

    @property
    def module(self) -> str:
        return f"chaos.adopted.{self.name}"

    @property
    def option(self) -> tuple[str, str]:
        return "--orders", self.guard


def _orders(framework: str) -> Adopted:
    return Adopted(
        name=f"orders_in_{framework}",
        guard=framework,
        replaces=("services.orders", "api"),
        scenario="killed_between_steps",
        must_fail=frozenset(),
    )


ORDERS: Mapping[str, Adopted] = MappingProxyType({each: _orders(each) for each in ("django", "fastapi")})
"""The word after ``--orders`` → what to run instead of our own service."""
