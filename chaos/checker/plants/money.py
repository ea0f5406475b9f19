"""Canaries for invoices, amounts, numbers, mails and sums, S11, S13-S16, S18, S19."""

from __future__ import annotations

from chaos.checker.evidence import Evidence
from chaos.checker.plants.log import FAR
from chaos.checker.plants.pick import NOBODY, NOTHING, instead, pick
from chaos.checker.records import Invoice, Revenue


def _invoice(evidence: Evidence) -> Invoice:
    orders, poisoned = evidence.order_of, evidence.poisoned
    return pick((i for i in evidence.invoices if i.order_id in orders and i.order_id not in poisoned), "invoice")


def invoiced_twice(evidence: Evidence) -> Evidence:
    invoice = _invoice(evidence)
    return evidence.replacing(invoices=[*evidence.invoices, invoice._replace(number="CANARY", sequence=FAR)])


def invoice_for_nobody(evidence: Evidence) -> Evidence:
    invoice = pick(evidence.invoices, "invoice")
    return evidence.replacing(invoices=[*evidence.invoices, invoice._replace(number="CANARY", order_id=NOBODY)])


def dearer(evidence: Evidence) -> Evidence:
    """Add much to an invoice: a cent more would put right what lacks a cent already."""
    invoice = _invoice(evidence)
    dearer = invoice._replace(amount_minor=invoice.amount_minor + FAR)
    return evidence.replacing(invoices=instead(evidence.invoices, invoice, dearer))


def number_jumps(evidence: Evidence) -> Evidence:
    invoice = pick(evidence.invoices, "invoice")
    return evidence.replacing(invoices=instead(evidence.invoices, invoice, invoice._replace(sequence=FAR)))


def mailed_under_second_key(evidence: Evidence) -> Evidence:
    invoice, mail = _invoice(evidence), pick(evidence.mails, "invoice mail")
    second = mail._replace(key=NOTHING, order_id=invoice.order_id)
    return evidence.replacing(mails=[*evidence.mails, second])


def counted_once_too_often(evidence: Evidence) -> Evidence:
    extra = Revenue("1970-01-01", "XXX", 1, 1, 0)
    return evidence.replacing(revenue=[*evidence.revenue, extra])
