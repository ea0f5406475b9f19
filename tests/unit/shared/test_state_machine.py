"""State machines as data, and what the handlers lean on in those of orders and billing."""

import pytest

from services.billing.bill_states import BILL
from services.orders.order_states import CANCEL, ORDER, PLACE
from shared.events import PAYLOADS
from shared.state_machine import Machine, Stay, Transition

REQUESTS = {PLACE, CANCEL}


def test_a_machine_says_what_comes_next() -> None:
    """By state, by what comes, and by what was decided about it."""
    yes = Transition(None, "Asked", "open", tells=("Opened",), given="yes")
    no = Transition(None, "Asked", "shut", tells=(), given="no")
    door = Machine("door", (yes, no, Transition("open", "Pushed", "shut", tells=())), ())
    assert (door.step(None, "Asked", "yes"), door.step(None, "Asked", "no")) == (yes, no)
    assert door.step("shut", "Pushed") is None
    assert (door.states, door.moved_by("Pushed"), door.target("Pushed")) == (("open", "shut"), ("open",), "shut")


def test_one_question_has_one_answer() -> None:
    """Two transitions, or a transition and a stay, for the same event in the same state are a mistake in the table."""
    move = Transition("a", "Came", "b", tells=())
    with pytest.raises(ValueError, match="twice"):
        Machine("thing", (move, Transition("a", "Came", "c", tells=())), ())
    with pytest.raises(ValueError, match="twice"):
        Machine("thing", (move,), (Stay("a", "Came", "it cannot"),))


@pytest.mark.parametrize("machine", [ORDER, BILL], ids=lambda machine: machine.aggregate)
def test_machines_speak_of_events_that_exist(machine: Machine) -> None:
    """A misspelt type would never come, and its transition never be taken."""
    heard = {answer.on for answer in (*machine.transitions, *machine.stays)}
    told = {kind for transition in machine.transitions for kind in transition.tells}
    assert heard | told <= PAYLOADS.keys() | REQUESTS


def test_no_event_moves_an_order_on_from_where_another_event_led() -> None:
    """A batch gives an order one new state and one new version; billing's second event of it changes nothing."""
    by_events = [transition for transition in ORDER.transitions if transition.on not in REQUESTS]
    assert not {transition.to for transition in by_events} & {transition.state for transition in by_events}


def test_a_cancellation_leads_to_one_state() -> None:
    """One statement cancels an order, whatever it was."""
    assert ORDER.target(CANCEL) == "cancelled"
