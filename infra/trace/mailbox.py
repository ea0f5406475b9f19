"""What reached the customer: read from the mail sink's own journal, which no service writes to."""

import json
from collections.abc import Iterator
from datetime import datetime
from gettext import gettext as _
from pathlib import Path

from infra.trace.moment import Moment, Where


def arrivals(journal: Path, order_id: str) -> Iterator[Moment]:
    """Yield the messages of an order; one with a Message-ID that came before is a duplicate for every mail client."""
    if not journal.exists():
        return
    seen: set[str] = set()
    with journal.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if order_id not in line or not line.endswith("}\n"):
                continue
            mail = json.loads(line)
            sentence = _("message with {number} arrived, Message-ID {key}").format(
                number=mail["invoice_number"], key=mail["message_id"]
            )
            again = mail["message_id"] in seen
            seen.add(mail["message_id"])
            yield Moment(datetime.fromisoformat(mail["at"]), Where.MAILBOX, sentence, again)
