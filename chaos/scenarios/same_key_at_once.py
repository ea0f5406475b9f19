"""The same key three times at once, and the same key with another order."""

from gettext import gettext as _

from chaos.scenario import Expectation, Scenario, Twin, Workload

SCENARIO = Scenario(
    name="same_key_at_once",
    title=_("The same key, three times at once"),
    teaches=_(
        "Impatient clients send a request again before the first is answered. A look before the insert would find "
        "nothing, three times. The unique index decides in one statement, the others wait for its end and get the "
        "same answer; another order under the same key is refused."
    ),
    guard="UNIQUE on the idempotency key",
    workload=Workload(
        seconds=10.0,
        rate_per_second=30.0,
        share_cancelled_at_once=0.05,
        share_same_key_at_once=0.6,
        share_same_key_other_body=0.2,
    ),
    expect=Expectation(flags={"operations": ["place", "replayed", "invoiced"]}),
    twin=Twin(variant="orders_look_before_they_write"),
)
