import re
import subprocess
import sys
import zlib

import msgspec
import pytest

from services.notifications.errors import MailRefused
from services.notifications.invoice_pdf import render
from shared.events import OrderLine
from tests.unit.notifications.commands import command

_RENDER_ELSEWHERE = """
import sys, msgspec
from services.notifications.invoice_pdf import render
from shared.events import SendInvoice
sys.stdout.buffer.write(render(msgspec.json.decode(sys.stdin.buffer.read(), type=SendInvoice)))
"""


def text_of(pdf: bytes) -> str:
    """Return what is written on the pages, as far as these simple files go."""
    pages = [
        zlib.decompress(part) for part in re.findall(rb"/FlateDecode.*?stream\n(.*?)\nendstream", pdf, flags=re.DOTALL)
    ]
    shown = re.findall(r"\(((?:\\.|[^\\)])*)\) Tj", b"\n".join(pages).decode("latin-1"))
    return "\n".join(re.sub(r"\\(.)", r"\1", part) for part in shown)


def page_count(pdf: bytes) -> int:
    return len(re.findall(rb"/Type /Page\b", pdf))


@pytest.mark.parametrize("currency", ["EUR", "JPY", "KWD"])
def test_a_retry_in_another_process_gives_the_same_bytes(currency: str) -> None:
    """Nothing in the file comes from a clock, a random number or the process that wrote it."""
    wanted = command(currency=currency)
    again = subprocess.run(
        [sys.executable, "-c", _RENDER_ELSEWHERE], input=msgspec.json.encode(wanted), capture_output=True, check=True
    )
    assert again.stdout == render(wanted)
    assert b"/CreationDate (D:20260131123456Z)" in again.stdout, "the invoice's date, not the clock's"


def test_another_command_gives_another_file() -> None:
    assert render(command()) != render(command(number="INV-2026-000043"))


def test_the_invoice_says_who_what_and_how_much() -> None:
    """Number, date, order, customer, each line with its amounts, and the total."""
    text = text_of(render(command()))
    for part in (
        "INV-2026-000042", "31 January 2026", "0198c1d2-3e4f-7a5b-8c6d-000000000001", "ada@example.org",
        "tea", "EUR 4.50", "EUR 9.00", "cup", "EUR 13.34", "EUR 22.34",
    ):  # fmt: skip
        assert part in text


def test_many_lines_take_several_pages_with_headings_and_numbers() -> None:
    """Nothing is cut off: every line is there, and each page says which it is."""
    lines = [OrderLine(sku=f"item-{n:03d}", quantity=n + 1, unit_price_minor=100) for n in range(100)]
    pdf = render(command(lines=lines))
    text = text_of(pdf)
    assert page_count(pdf) == 4
    assert all(line.sku in text for line in lines)
    assert text.count("Unit price") == text.count("INV-2026-000042  ") == page_count(pdf)


def test_a_long_item_is_wrapped_not_cut() -> None:
    sku = "a rather long name of an item " * 6
    text = text_of(render(command(lines=[OrderLine(sku=sku, quantity=1, unit_price_minor=1)])))
    assert " ".join(text.split()).count("rather") == 6


def test_letters_that_the_fonts_lack_become_question_marks() -> None:
    """A customer gets an invoice all the same; letters of Western Europe and the euro sign are there."""
    text = text_of(render(command(lines=[OrderLine(sku="té 茶 €", quantity=1, unit_price_minor=1)])))
    assert "té ? \x80" in text


def test_an_unreadable_date_is_refused() -> None:
    with pytest.raises(MailRefused, match="RFC 3339"):
        render(command(issued_at="soon"))
