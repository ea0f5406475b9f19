"""The end of a process: what a person must mend is told in one sentence."""

import pytest

from shared.errors import ConfigurationError, OnceError, PermanentError, RefusedError
from shared.lifecycle import run_main


@pytest.mark.parametrize("kind", [ConfigurationError, PermanentError, RefusedError])
def test_an_error_for_a_person_ends_the_process_with_its_sentence(
    kind: type[OnceError], capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no stack trace, and the exit status is one of its own."""

    def main() -> None:
        raise kind("orders.events[3] offset 7 cannot be read")

    assert run_main(main) == 78
    assert capsys.readouterr().err == f"{kind.__name__}: orders.events[3] offset 7 cannot be read\n"


def test_a_bug_keeps_its_stack_trace() -> None:
    def main() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_main(main)
