"""What can be wrong with the database that a relay is pointed at.

TransientError
└── StandbyError    the server takes no writes now: wait until it is promoted, or somebody points us elsewhere
RefusedError        (shared) going on could lose or double events: stop and ask a person
"""

from shared.errors import TransientError


class StandbyError(TransientError):
    pass
