"""What can go wrong with the local stack. Every message says what happened, why, and what to do next.

OnceError
└── StackError               the stack cannot do what was asked
    ├── MissingToolError     a program that set-up should have brought is not there
    ├── PortTakenError       somebody else listens where one of our parts should
    └── NotReadyError        a part runs but does not answer in time
"""

from shared.errors import OnceError


class StackError(OnceError):
    pass


class MissingToolError(StackError):
    pass


class PortTakenError(StackError):
    pass


class NotReadyError(StackError):
    pass
