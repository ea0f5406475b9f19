from pathlib import Path

import msgspec

from services.notifications.mail_sink.journal import Journal


def lines(path: Path) -> list[object]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


def test_an_entry_is_on_file_when_append_returns(tmp_path: Path) -> None:
    """Another process can read it at once; nothing waits in a buffer."""
    journal = Journal(tmp_path / "deep" / "mail.jsonl")
    journal.append({"message_id": "<1>", "recipient": "ada\n@example.org"})
    assert lines(tmp_path / "deep" / "mail.jsonl") == [{"message_id": "<1>", "recipient": "ada\n@example.org"}]
    journal.close()


def test_a_journal_goes_on_after_a_restart_and_after_a_torn_line(tmp_path: Path) -> None:
    """What a kill left half-written spoils its own line only."""
    path = tmp_path / "mail.jsonl"
    path.write_bytes(b'{"n":1}\n{"n":')
    journal = Journal(path)
    journal.append({"n": 3})
    journal.close()
    assert path.read_bytes() == b'{"n":1}\n{"n":\n{"n":3}\n'
