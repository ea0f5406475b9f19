"""Analytics reads what orders and billing have written."""

from sqlalchemy import Engine

from tests.contract.agreement import batch_for
from tests.integration.analytics.news import count, rows


def test_analytics_applies_every_sample_that_it_hears(engine: Engine) -> None:
    """Each has its inbox row, and invoice and credit note have their money."""
    batch = batch_for("analytics")
    count(engine, batch)
    assert rows(engine, "SELECT count(*) FROM inbox") == [(len(batch),)]
    invoices, credited = rows(engine, "SELECT sum(invoices), sum(credited_minor) FROM revenue")[0]
    assert invoices == 1
    assert credited > 0
