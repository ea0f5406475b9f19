"""The supervisor's own log: what was started, what ended by itself, what was stopped."""

from infra.local.restarts import History, parse

_LOG = """\
2026-11-30 01:11:40,300 INFO supervisord started with pid 10674
2026-11-30 01:11:40,302 INFO spawned: 'billing-1' with pid 10675
2026-11-30 01:11:41,442 INFO success: billing-1 entered RUNNING state, process has stayed up for > than 1 seconds
2026-11-30 01:12:00,000 WARN exited: billing-1 (terminated by SIGKILL; not expected)
2026-11-30 01:12:01,000 INFO spawned: 'billing-1' with pid 10700
2026-11-30 01:12:05,000 INFO waiting for billing-1 to stop
2026-11-30 01:12:06,000 WARN stopped: billing-1 (exit status 0)
2026-11-30 01:12:07,000 INFO spawned: 'billing-1' with pid 10801
"""


def test_every_start_and_end_is_read_with_its_process_id() -> None:
    happened = [(each.name, each.what, each.pid) for each in parse(_LOG.splitlines())]
    assert happened == [
        ("billing-1", "started", 10675),
        ("billing-1", "exited", 10675),
        ("billing-1", "started", 10700),
        ("billing-1", "stopped", 10700),
        ("billing-1", "started", 10801),
    ]


def test_only_a_start_after_an_end_nobody_asked_for_is_a_restart() -> None:
    history = History(tuple(parse(_LOG.splitlines())))
    assert history.restarts("billing-1") == 1
    assert history.restarts("unknown") == 0


def test_the_reason_of_an_end_is_kept() -> None:
    reasons = [each.reason for each in parse(_LOG.splitlines()) if each.what == "exited"]
    assert reasons == ["terminated by SIGKILL; not expected"]
