"""The guard-off matrix: its rows are complete, and anything that is not as foretold is seen."""

import pytest

from chaos import matrix, unsafe
from chaos.checker.finding import Family
from chaos.checker.result import Answer, Result, Status, Verdict
from chaos.foretold import EVERY_INVARIANT
from chaos.unsafe import Variant


def a_variant(**sets: frozenset[str]) -> Variant:
    return Variant(name="some", guard="some", replaces=("services.billing", "consumer"), scenario="smoke", **sets)


def a_verdict(**answers: Answer) -> Verdict:
    """All rules hold but for those that are named."""
    found = {**dict.fromkeys(EVERY_INVARIANT, Answer.HOLDS), **answers}
    results = tuple(Result(each, each, Family.SAFETY, answer) for each, answer in sorted(found.items()))
    return Verdict(Status.FAIL, "run", "smoke", 7, "some", results, (), {}, {}, ())


@pytest.mark.parametrize("name", unsafe.names())
def test_every_rule_is_in_exactly_one_set_of_every_variant(name: str) -> None:
    """Nobody has to guess what a variant says of a rule, and each has something that must break."""
    variant = unsafe.load(name)
    assert variant.name == name
    assert variant.must_fail
    assert len(variant.must_fail) + len(variant.may_fail) + len(variant.must_hold) == len(EVERY_INVARIANT)
    assert variant.must_fail | variant.may_fail | variant.must_hold == EVERY_INVARIANT


def test_a_guard_has_one_variant() -> None:
    """The word after --without means one thing."""
    assert len(unsafe.guards()) == len(unsafe.names())


def test_two_sets_are_enough_and_the_rest_is_strict() -> None:
    """What a variant does not name must hold; one that names what must hold leaves the rest open."""
    strict = a_variant(must_fail=frozenset({"S11"}), may_fail=frozenset({"S18"}))
    assert strict.must_hold == EVERY_INVARIANT - {"S11", "S18"}
    loose = a_variant(must_fail=frozenset({"S11"}), must_hold=frozenset({"S01"}))
    assert loose.may_fail == EVERY_INVARIANT - {"S11", "S01"}


@pytest.mark.parametrize(
    "sets",
    [
        {"must_fail": frozenset({"S11"}), "may_fail": frozenset({"S11"})},
        {"must_fail": frozenset({"S99"})},
    ],
)
def test_a_rule_in_two_sets_or_in_no_registry_is_refused(sets: dict[str, frozenset[str]]) -> None:
    """A slip in a variant's data is found where it is written."""
    with pytest.raises(ValueError, match="some"):
        a_variant(**sets)


def test_a_row_is_as_specified_only_if_every_rule_is_where_it_was_put() -> None:
    """A rule that failed to break and one that broke unasked, or could not be judged, are both found."""
    variant = a_variant(must_fail=frozenset({"S11", "S15"}), may_fail=frozenset({"S18"}))
    good = matrix.row(variant, a_verdict(S11=Answer.BROKEN, S15=Answer.BROKEN, S18=Answer.UNKNOWN)).found
    assert good.as_foretold
    blind = matrix.row(variant, a_verdict(S11=Answer.BROKEN)).found
    assert (blind.not_seen, blind.unforeseen) == (("S15",), ())
    wild = matrix.row(variant, a_verdict(S11=Answer.BROKEN, S15=Answer.BROKEN, S01=Answer.UNKNOWN)).found
    assert (wild.not_seen, wild.unforeseen) == ((), ("S01",))
