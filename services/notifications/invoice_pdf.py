"""Render an invoice as a PDF: A4, as many pages as its lines need.

Invariant: the same command gives the same bytes. Everything on the page and in the file's metadata comes from the
command; there is no clock and no random id. So a mail that has to be sent again is the same mail.

Not promised: letters outside of Windows-1252. The PDF's built-in fonts have no others; a question mark stands for each.
"""

from datetime import datetime
from typing import Final

from fpdf import FPDF
from fpdf.enums import MethodReturnValue, XPos, YPos

from services.notifications.amounts import amount_text
from services.notifications.errors import MailRefused
from shared.events import SendInvoice

SELLER: Final = "Effectively Once"
SELLER_ADDRESS: Final = ("1 Ledger Lane", "Commitville", "billing@effectively-once.invalid")

_INK: Final = (33, 37, 41)
_QUIET: Final = (108, 117, 125)
_ACCENT: Final = (24, 78, 119)
_SHADE: Final = (241, 245, 249)
_RULE: Final = (203, 213, 225)

_MARGIN_MM: Final = 20.0
_COLUMNS_MM: Final = (76, 18, 38, 38)
_LINE_MM: Final = 5.0
_GAP_MM: Final = 2.4
_HEADINGS: Final = ("Item", "Quantity", "Unit price", "Amount")


class _Page(FPDF):
    """A page with the invoice's number and the page's own at its foot."""

    def __init__(self, number: str) -> None:
        super().__init__(orientation="portrait", unit="mm", format="A4")
        self._number = number
        self.core_fonts_encoding = "windows-1252"
        self.set_margin(_MARGIN_MM)
        self.set_auto_page_break(True, margin=25)

    def footer(self) -> None:
        self.set_y(-18)
        self.set_font("Helvetica", size=8)
        self.set_text_color(*_QUIET)
        self.cell(0, 5, f"{SELLER}  ·  Invoice {self._number}  ·  Page {self.page_no()} of {{nb}}", align="C")


def render(command: SendInvoice) -> bytes:
    """Return the invoice's PDF. Raises MailRefused when the command cannot be put on paper."""
    issued_at = _issued_at(command)
    page = _Page(command.invoice_number)
    page.set_creation_date(issued_at)
    page.set_title(f"Invoice {command.invoice_number}")
    page.set_author(SELLER)
    page.set_lang("en")
    page.add_page()
    _letterhead(page)
    _particulars(page, command, issued_at)
    _lines(page, command)
    _total(page, command)
    return bytes(page.output())


def _issued_at(command: SendInvoice) -> datetime:
    try:
        return datetime.fromisoformat(command.issued_at)
    except ValueError as error:
        raise MailRefused(f"the invoice's date {command.issued_at!r} is not RFC 3339") from error


def _letterhead(page: _Page) -> None:
    page.set_fill_color(*_ACCENT)
    page.rect(0, 0, page.w, 6, style="F")
    page.set_y(_MARGIN_MM)
    page.set_font("Helvetica", "B", 16)
    page.set_text_color(*_ACCENT)
    page.cell(page.epw / 2, 9, SELLER)
    page.set_font("Helvetica", size=22)
    page.set_text_color(*_INK)
    page.cell(page.epw / 2, 9, "INVOICE", align="R", new_x=XPos.LMARGIN, new_y=YPos.NEXT)
    page.ln(1)
    page.set_font("Helvetica", size=9)
    page.set_text_color(*_QUIET)
    for line in SELLER_ADDRESS:
        page.cell(0, 4.6, line, new_x=XPos.LMARGIN, new_y=YPos.NEXT)
    page.ln(10)


def _particulars(page: _Page, command: SendInvoice, issued_at: datetime) -> None:
    """Write who it is for on the left, and the invoice's own particulars on the right."""
    top = page.get_y()
    _label(page, "BILLED TO")
    page.set_font("Helvetica", size=10)
    page.multi_cell(78, 5, _printable(command.email), align="L")
    left_end = page.get_y()
    page.set_y(top)
    facts = {
        "Invoice number": command.invoice_number,
        "Date": f"{issued_at.day} {issued_at:%B %Y}",
        "Order": command.order_id,
    }
    for name, value in facts.items():
        page.set_x(_MARGIN_MM + 82)
        page.set_font("Helvetica", size=9)
        page.set_text_color(*_QUIET)
        page.cell(27, 5.6, name)
        page.set_text_color(*_INK)
        page.cell(0, 5.6, _printable(value), align="R", new_x=XPos.LMARGIN, new_y=YPos.NEXT)
    page.set_y(max(left_end, page.get_y()) + 10)


def _label(page: _Page, text: str) -> None:
    page.set_font("Helvetica", "B", 8)
    page.set_text_color(*_QUIET)
    page.cell(78, 5.6, text, new_x=XPos.LMARGIN, new_y=YPos.NEXT)
    page.set_text_color(*_INK)


def _lines(page: _Page, command: SendInvoice) -> None:
    """Write the table of lines; its headings are repeated on every page.

    Drawn cell by cell: the library's own tables cost five times as much, and every invoice is drawn.
    """
    page.set_draw_color(*_RULE)
    _headings(page)
    for line in command.lines:
        item = _wrapped(page, _printable(line.sku))
        if page.will_page_break(_LINE_MM * len(item) + _GAP_MM):
            page.add_page()
            _headings(page)
        amounts = (
            f"{line.quantity:,}",
            amount_text(line.unit_price_minor, command.currency),
            amount_text(line.quantity * line.unit_price_minor, command.currency),
        )
        _row(page, item, amounts)


def _headings(page: _Page) -> None:
    page.set_font("Helvetica", "B", 9)
    page.set_text_color(*_ACCENT)
    page.set_fill_color(*_SHADE)
    for width, heading, align in zip(_COLUMNS_MM, _HEADINGS, "LRRR", strict=True):
        page.cell(width, 8, heading, align=align, fill=True)
    page.ln(8)
    page.set_font("Helvetica", size=9)
    page.set_text_color(*_INK)


def _wrapped(page: _Page, text: str) -> list[str]:
    if page.get_string_width(text) <= _COLUMNS_MM[0] - 2 * page.c_margin:
        return [text]
    lines = page.multi_cell(_COLUMNS_MM[0], _LINE_MM, text, align="L", dry_run=True, output=MethodReturnValue.LINES)
    assert isinstance(lines, list)
    return lines


def _row(page: _Page, item: list[str], amounts: tuple[str, ...]) -> None:
    page.ln(_GAP_MM / 2)
    for index, part in enumerate(item):
        page.cell(_COLUMNS_MM[0], _LINE_MM, part)
        if index == 0:
            for width, amount in zip(_COLUMNS_MM[1:], amounts, strict=True):
                page.cell(width, _LINE_MM, amount, align="R")
        page.ln(_LINE_MM)
    page.ln(_GAP_MM / 2)
    page.line(_MARGIN_MM, page.get_y(), page.w - _MARGIN_MM, page.get_y())


def _total(page: _Page, command: SendInvoice) -> None:
    if page.will_page_break(24):
        page.add_page()
    page.ln(4)
    page.set_x(_MARGIN_MM + sum(_COLUMNS_MM[:1]))
    page.set_fill_color(*_ACCENT)
    page.set_text_color(255, 255, 255)
    page.set_font("Helvetica", "B", 11)
    page.cell(sum(_COLUMNS_MM[1:2]) + 14, 10, "  Total", fill=True)
    amount = amount_text(command.amount_minor, command.currency)
    page.cell(0, 10, f"{amount}  ", align="R", fill=True, new_x=XPos.LMARGIN, new_y=YPos.NEXT)
    page.ln(4)
    page.set_text_color(*_QUIET)
    page.set_font("Helvetica", size=9)
    page.cell(0, 5, "Paid in full when the order was placed. Thank you for your order.", align="R")


def _printable(text: str) -> str:
    return text.encode("windows-1252", "replace").decode("windows-1252")
