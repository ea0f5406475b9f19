"""How a run is told: plain lines without control codes, and a verdict that names what broke."""

import threading
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO

from rich.console import Console

from chaos import scenarios
from chaos.checker.finding import Counterexample, Family
from chaos.checker.result import Answer, Result, Status, Verdict
from chaos.checker.story import Kind, Moment, Story, Turning
from chaos.pulse import Pulse
from chaos.telling import verdict as verdict_shown
from chaos.telling.counters import what_an_act_did
from chaos.telling.live import LiveTeller
from chaos.telling.plain import PlainTeller
from chaos.watcher import Phase, Watcher

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def console(*, terminal: bool) -> Console:
    return Console(file=StringIO(), force_terminal=terminal, width=100, highlight=False)


def text_of(console: Console) -> str:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def tell_a_run(teller: Watcher) -> None:
    act = scenarios.load("three_acts").acts[0]
    teller.phase(Phase.LOAD)
    teller.pulse(Pulse(planned=10, orders=3, copies=4, distinct=4))
    teller.act_begins(1, act)
    teller.pulse(Pulse(planned=10, orders=9, copies=12, distinct=10, suppressed=2, invoices=8))
    teller.act_ends(1, act)
    teller.phase(Phase.CHECK)


def a_verdict(status: Status, *results: Result) -> Verdict:
    return Verdict(
        status=status,
        run="three-acts-0000",
        scenario="three_acts",
        seed=7,
        guard_off=None,
        results=results,
        canaries=(),
        counts={"orders": 3, "invoices": 4, "copies": 9, "distinct_events_in_log": 8},
        torn_lines={},
        stories=(),
    )


TWICE = Result(
    "S11",
    "No order is invoiced twice.",
    Family.SAFETY,
    Answer.BROKEN,
    "",
    1,
    (Counterexample("order 1, two invoices"),),
)
HOLDS = Result("S01", "No accepted order is lost.", Family.SAFETY, Answer.HOLDS)


def test_plain_lines_have_no_control_codes() -> None:
    """What goes into a file or a pipe is text and nothing else, and tells what each act did."""
    out = console(terminal=False)
    with PlainTeller(out) as teller:
        tell_a_run(teller)
    assert "\x1b" not in text_of(out)
    assert "The messenger dies" in text_of(out)
    assert "2 events now stand in the log a second time" in text_of(out)


def test_the_live_picture_tells_the_same_story() -> None:
    """Acts and what they did scroll by and stay; the picture below them goes away."""
    out = console(terminal=True)
    with LiveTeller(out) as teller:
        tell_a_run(teller)
    assert "The messenger dies" in text_of(out)
    assert "2 repeated deliveries were recognised" in text_of(out)


def test_drawing_and_telling_do_not_wait_for_each_other() -> None:
    """A run goes on telling while the picture is drawn; neither may hold what the other waits for."""
    out = console(terminal=True)

    def tell(teller: LiveTeller) -> None:
        for _round in range(100):
            tell_a_run(teller)

    with LiveTeller(out) as teller:
        telling = threading.Thread(target=tell, args=[teller], daemon=True)
        telling.start()
        for _round in range(100):
            teller.draw()
        telling.join(timeout=30)
        assert not telling.is_alive()


def test_an_act_is_told_by_what_changed() -> None:
    """What an act did not cause is not said."""
    assert what_an_act_did(Pulse(), Pulse(orders=5, invoices=5)) == ["5 invoices so far for 5 orders"]


def test_a_violation_is_named_with_its_first_example() -> None:
    """The rule, how often it was broken, the first example, and the word FAIL; kept rules are listed as kept."""
    out = console(terminal=False)
    verdict_shown.show(out, a_verdict(Status.FAIL, HOLDS, TWICE))
    shown = text_of(out)
    assert "✓  S01" in shown
    assert "✗  S11" in shown
    assert "order 1, two invoices" in shown
    assert "FAIL" in shown
    assert "S11: No order is invoiced twice." in shown


def test_numbers_say_how_many_copies_are_second_ones() -> None:
    """The reader sees the duplicates that the run made."""
    out = console(terminal=False)
    verdict_shown.show(out, a_verdict(Status.PASS, HOLDS))
    assert "1 of them second copies" in text_of(out)
    assert "PASS" in text_of(out)


def test_the_first_story_is_shown_with_its_turning_point() -> None:
    """The line at which it went wrong is marked, and who, where, which fault and what should have been are said."""
    moments = (
        Moment(NOON, Kind.REQUEST, "place for 5 EUR"),
        Moment(NOON, Kind.EFFECT, "invoice 2", who="billing-2", where="orders.events/9@0"),
    )
    turning = Turning("The inbox knows the event.", 1, "replay: hit billing", "billing-2", "orders.events/9@0")
    out = console(terminal=False)
    verdict = replace(a_verdict(Status.FAIL, TWICE), stories=(Story("S11", "twice", "1", moments, 3, turning),))
    verdict_shown.show(out, verdict)
    shown = text_of(out)
    assert next(line for line in shown.splitlines() if "invoice 2" in line).startswith("│ ►")
    assert "3 less telling moments are left out" in shown
    assert "It went wrong at 12:00:00.000: billing-2, orders.events/9@0." in shown
    assert "The fault that had struck last: replay: hit billing." in shown
    assert "What should have happened: The inbox knows the event." in shown
