"""Notifications' own errors.

    TransientError
    ├── MailNotAccepted     the mail server is away or said "later"
    └── MailInHand          another worker has this very mail in hand
    PermanentError
    └── MailRefused         the mail server said "never", or the command cannot be turned into a mail

Transient ones are tried again with back-off; permanent ones are logged and kept in the ledger.
"""

from shared.errors import PermanentError, TransientError


class MailNotAccepted(TransientError):
    pass


class MailInHand(TransientError):
    pass


class MailRefused(PermanentError):
    pass
