"""What can be wrong with the database that a relay is pointed at.

TransientError
└── StandbyError    the server takes no writes now: wait until it is promoted, or somebody points us elsewhere
RefusedError        (shared) going on could lose or double events: stop and ask a person
"""

from typing import Final

from psycopg import InterfaceError, OperationalError
from psycopg.errors import IdleInTransactionSessionTimeout

from shared.errors import TransientError

CONNECTION_LOST: Final = (OperationalError, InterfaceError, IdleInTransactionSessionTimeout)
"""What a lost connection looks like. The last is how the server takes it from a relay that hung in a transaction."""


class StandbyError(TransientError):
    pass
