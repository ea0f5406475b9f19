"""What a failure of a batch means for the consumer's loop. The one place that decides it.

    TRANSIENT   the database cannot do it now: the batch is held and tried again, and no event is to blame
    PERMANENT   this event can never be applied: it is parked
    BUG         nobody foresaw it: the culprit is found and counted, the process crashes; after a few tries it is parked
    STOP        the program, its database or its settings are not as they must be: crash, and blame no event

Source: the classes of SQLSTATE, PostgreSQL 18, Appendix A. Class 54 is no outage although the server calls it a limit:
the same event will meet it again. A failure without a SQLSTATE comes from the driver: no connection, or data that it
cannot send.
"""

from enum import Enum, auto
from typing import Final

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from shared.errors import ConfigurationError, PermanentError, RefusedError, TransientError


class Failure(Enum):
    TRANSIENT = auto()
    PERMANENT = auto()
    BUG = auto()
    STOP = auto()


_BY_CLASS: Final = {
    "08": Failure.TRANSIENT,  # connection
    "40": Failure.TRANSIENT,  # serialisation, deadlock
    "53": Failure.TRANSIENT,  # no connections, memory or disk left
    "55": Failure.TRANSIENT,  # a lock that is not to be had
    "57": Failure.TRANSIENT,  # cancelled, shutting down, starting up
    "58": Failure.TRANSIENT,  # the server's own input and output
    "22": Failure.PERMANENT,  # a value that its type does not have
    "23": Failure.PERMANENT,  # a constraint
    "54": Failure.PERMANENT,  # larger than anything the server takes
    "0A": Failure.STOP,
    "28": Failure.STOP,  # not let in
    "3D": Failure.STOP,  # no such database
    "3F": Failure.STOP,  # no such schema
    "42": Failure.STOP,  # no such table or column, or no right to it: a migration or a grant is missing
    "XX": Failure.STOP,  # the server has found its own data or code broken
}
_OF_THE_SESSION: Final = {"25006", "25P03", "25P04"}
"""Read only, as a standby is, or ended for being idle: the next connection may be another server's."""


def failure_of(error: BaseException) -> Failure:
    """Classify what a handler, an inbox or a commit has raised."""
    match error:
        case TransientError() | PoolTimeoutError():
            return Failure.TRANSIENT
        case PermanentError():
            return Failure.PERMANENT
        case ConfigurationError() | RefusedError():
            return Failure.STOP
        case DBAPIError():
            return _of_database(error)
    return Failure.BUG


def _of_database(error: DBAPIError) -> Failure:
    code: str | None = getattr(error.orig, "sqlstate", None)
    if error.connection_invalidated or code in _OF_THE_SESSION:
        return Failure.TRANSIENT
    if code is not None:
        return _BY_CLASS.get(code[:2], Failure.BUG)
    if isinstance(error, (OperationalError, InterfaceError)):
        return Failure.TRANSIENT
    return Failure.PERMANENT if isinstance(error, (DataError, IntegrityError)) else Failure.BUG
