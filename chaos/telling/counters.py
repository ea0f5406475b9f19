"""The counts of a run in words, the same for the live picture and for plain lines."""

from dataclasses import dataclass
from gettext import gettext as _

from chaos.pulse import Pulse


@dataclass(frozen=True, slots=True)
class Counter:
    name: str
    value: int
    remark: str = ""


def counters(pulse: Pulse) -> list[Counter]:
    """From left to right, the way of an order."""
    return [
        Counter(_("orders"), pulse.orders, _("{count} of them cancelled again").format(count=pulse.cancelled)),
        Counter(_("events"), pulse.events, _("each written in the transaction of what it tells")),
        Counter(_("copies in the log"), pulse.copies, _("{count} are second copies").format(count=pulse.second_copies)),
        Counter(_("deliveries"), pulse.deliveries, _("each event goes to every group that wants it")),
        Counter(_("suppressed"), pulse.suppressed, _("came again, and the inbox knew them")),
        Counter(_("invoices"), pulse.invoices, _("{count} of them credited again").format(count=pulse.credit_notes)),
        Counter(_("e-mails"), pulse.mails, _("in the mailbox")),
    ]


def one_line(pulse: Pulse) -> str:
    return " · ".join(f"{counter.value} {counter.name}" for counter in counters(pulse))


def what_an_act_did(before: Pulse, after: Pulse) -> list[str]:
    """Say what changed between two looks, leaving out what did not."""
    copies = after.second_copies - before.second_copies
    suppressed = after.suppressed - before.suppressed
    told = []
    if copies:
        told.append(_("{count} events now stand in the log a second time").format(count=copies))
    if suppressed:
        told.append(_("{count} repeated deliveries were recognised and had no effect").format(count=suppressed))
    told.append(
        _("{invoices} invoices so far for {orders} orders").format(invoices=after.invoices, orders=after.orders)
    )
    return told
