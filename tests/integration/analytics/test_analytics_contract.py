"""Analytics reads what orders and billing have written, and answers as its OpenAPI document says."""

import pytest
from jsonschema import Draft202012Validator
from sqlalchemy import Engine

from services.analytics.api import create_app
from services.analytics.openapi import document
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


@pytest.mark.parametrize("asked", ["/revenue", "/orders-by-state", "/orders-by-day", "/top-skus?currency=CHF"])
def test_a_good_answer_is_as_documented(engine: Engine, asked: str) -> None:
    """Every member that is promised is there, in the type that is promised, and something is in it.

    Seen red: with a day answered as a number, and with each currency left out.
    """
    count(engine, batch_for("analytics"))
    answer = create_app(engine).test_client().get(asked).json
    described = document()
    operation = described["paths"][asked.partition("?")[0]]["get"]
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    Draft202012Validator({**described, **schema}).validate(answer)
    assert all(answer.values())
