from datetime import UTC, datetime

import pytest

from services.billing.numbers import Number


@pytest.mark.parametrize(
    ("sequence", "text"), [(1, "INV-2026-000001"), (999_999, "INV-2026-999999"), (1_000_000, "INV-2026-1000000")]
)
def test_a_number_names_series_year_and_place(sequence: int, text: str) -> None:
    """Six digits keep a year's numbers in order as text; a series that outgrows them goes on."""
    assert str(Number("INV", 2026, sequence, datetime(2026, 1, 1, tzinfo=UTC))) == text
