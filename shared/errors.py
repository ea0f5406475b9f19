"""The errors that services share.

    OnceError
    ├── ConfigurationError    a setting is wrong: the process must not start
    ├── TransientError        the same work may succeed later: retry with back-off
    ├── PermanentError        the same work will fail for ever: park it
    ├── FencedError           somebody else owns the work now: drop it without a trace
    └── RefusedError          going on could lose or double events: stop and ask a person

Handlers raise; only loops decide whether to retry, to park or to stop.
"""


class OnceError(Exception):
    """Base of every error that this project raises on purpose."""


class ConfigurationError(OnceError):
    pass


class TransientError(OnceError):
    pass


class PermanentError(OnceError):
    pass


class FencedError(OnceError):
    pass


class RefusedError(OnceError):
    pass
