"""What Connect says of a connector, summed up for a person."""

from infra.cdc.connect import ConnectorState, read_state

_TRACE = """\
org.apache.kafka.connect.errors.ConnectException: Unrecoverable exception from producer send callback
\tat org.apache.kafka.connect.runtime.AbstractWorkerSourceTask.maybeThrowProducerSendException(X.java:334)
Caused by: org.apache.kafka.common.errors.RecordTooLargeException: The message is 2000349 bytes when serialized.
"""


def status(connector: str, *tasks: dict[str, str]) -> dict[str, object]:
    return {"name": "orders", "connector": {"state": connector}, "tasks": list(tasks)}


def test_a_connector_whose_task_runs_is_running() -> None:
    assert read_state(status("RUNNING", {"state": "RUNNING"})) == ConnectorState("orders", "RUNNING", "")


def test_a_connector_runs_only_with_its_task() -> None:
    """Connect says RUNNING of a connector before it has a task, and while its task is dead."""
    assert read_state(status("RUNNING")).state == "UNASSIGNED"
    assert read_state(status("RUNNING", {"state": "PAUSED"})).state == "PAUSED"


def test_the_last_cause_is_told() -> None:
    """Java wraps: the first line says nothing to anybody."""
    found = read_state(status("RUNNING", {"state": "FAILED", "trace": _TRACE}))
    assert found == ConnectorState("orders", "FAILED", "The message is 2000349 bytes when serialized")
