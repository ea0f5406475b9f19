"""What is said of a standby: that it is away, that it lags, that commits do not wait for it."""

from infra.status.replication import LAGS_BYTES, Replica, Replication, complaints


def of(*, state: str = "streaming", awaited: bool = True, behind: int = 0) -> Replication:
    return Replication({"postgres-2": Replica(state, awaited, behind, 0.0)}, demanded=awaited)


def test_a_standby_in_step_is_nothing_to_complain_of() -> None:
    assert complaints(of(behind=LAGS_BYTES)) == []


def test_a_standby_that_lags_is_named_with_how_far() -> None:
    (said,) = complaints(of(behind=48_000_000))
    assert "postgres-2 lags" in said
    assert "48 MB behind" in said


def test_one_that_copies_what_it_missed_is_named() -> None:
    (said,) = complaints(of(state="catchup"))
    assert "it is catchup" in said


def test_commits_that_wait_for_nobody_are_named() -> None:
    """The one case in which a promotion loses what was answered."""
    (said,) = complaints(of(awaited=False))
    assert "promoted, it may lack the last ones" in said


def test_a_standby_that_is_away_stops_writes_or_leaves_one_copy() -> None:
    """Which of the two it is decides what to do, and both have a cure."""
    (stopped,) = complaints(Replication({}, demanded=True))
    (alone,) = complaints(Replication({}, demanded=False))
    assert "nothing is written" in stopped
    assert "once standby release" in stopped
    assert "one copy" in alone
