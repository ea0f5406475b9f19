"""The mail server takes a mail and loses its answer, one time in four."""

from gettext import gettext as _

from chaos.faults.mail import MailAnswersLost
from chaos.faults.process import Kill
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="mail_answers_lost",
    title=_("The mail server forgets to answer"),
    teaches=_(
        "An answer that is lost looks like a mail that is lost. Sending it again is the only way not to lose it, "
        "and the same Message-ID the only way to be known as the same. Exactly once is not to be had here; a "
        "second copy under the same key is."
    ),
    guard="Message-ID made from the event id",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("No answer"),
            story=_("Every fourth mail is taken and not answered, from the start; then the mail worker is killed."),
            faults=(
                MailAnswersLost(name="mail-answers-lost", every=4),
                Kill(name="mail-worker-killed", targets=("notifications-1",)),
            ),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
