import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.billing.errors import UnknownCurrency
from services.billing.payments import authorise
from shared.events import CURRENCIES


@pytest.mark.parametrize(("currency", "limit_minor"), [("EUR", 1_000_000), ("JPY", 10_000), ("KWD", 10_000_000)])
def test_the_limit_is_ten_thousand_major_units_and_included(currency: str, limit_minor: int) -> None:
    """Exactly 10,000.00 units are authorised and one minor unit more is declined, whatever the decimals."""
    assert authorise(currency, limit_minor)
    assert not authorise(currency, limit_minor + 1)


@given(st.sampled_from(sorted(CURRENCIES)), st.integers(0, 10**15))
def test_the_rule_is_pure(currency: str, amount_minor: int) -> None:
    """The same payment gets the same answer, so a batch that runs again decides as it did."""
    assert authorise(currency, amount_minor) is authorise(currency, amount_minor)


def test_an_unknown_currency_is_an_error_not_a_decline() -> None:
    """Nobody knows its decimals, so no limit can be stated; the message says what to do."""
    with pytest.raises(UnknownCurrency, match=r"'XXX'.*CURRENCIES"):
        authorise("XXX", 1)
