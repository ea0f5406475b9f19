"""Statements that take away what would hide a missing guard: a UNIQUE that turns a doubled effect into an error.

What a UNIQUE stops and what it does not: it stops a second row where the effect has a natural key (one invoice per
order), and the event that would have made it is parked, for somebody to look at. It does nothing for an effect
without such a key: a sum, a counter, an e-mail.
"""

BILLING = (
    "ALTER TABLE bill DROP CONSTRAINT bill_pkey",
    "CREATE INDEX bill_order_id ON bill (order_id)",
    "ALTER TABLE invoice DROP CONSTRAINT invoice_order_id_key",
    "ALTER TABLE credit_note DROP CONSTRAINT credit_note_order_id_key",
    "ALTER TABLE outbox DROP CONSTRAINT outbox_aggregate_type_aggregate_id_aggregate_version_key",
)
