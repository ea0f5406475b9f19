"""PostgreSQL carries out what it is asked and the answer never arrives: COMMIT with an unknown outcome."""

from gettext import gettext as _

from chaos.faults.link import BrokenLink
from chaos.faults.server import Server
from chaos.proxy import Weather
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="commit_answer_lost",
    title=_("COMMIT, and no answer"),
    teaches=_(
        "A connection that dies during COMMIT leaves a question that only the database can answer. Nobody guesses: "
        "the client asks again with the same key, a consumer reads the event again and meets its inbox row, a relay "
        "reads its position from the table instead of remembering it."
    ),
    guard="idempotency key, inbox, position in the table",
    workload=Workload(seconds=12.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.25,
            title=_("No answer"),
            story=_(
                "Four times: requests reach PostgreSQL, answers do not come back, and then every connection is reset."
            ),
            faults=(
                BrokenLink(
                    name="answers-of-postgres-lost",
                    server=Server.POSTGRES,
                    targets=("orders-api", "billing-1", "orders-consumer-1", "relay-orders-1", "relay-billing-1"),
                    weather=Weather.ANSWERS_LOST,
                    seconds=1.0,
                    rounds=4,
                    ends_in_reset=True,
                ),
            ),
        ),
    ),
    expect=Expectation(flags={"overlap": True, "progress": True}),
)
