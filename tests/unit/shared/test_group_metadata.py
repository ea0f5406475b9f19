"""The generation is read from the client's own metadata."""

from confluent_kafka import Consumer

from shared.group_metadata import UNKNOWN_GENERATION, generation_of


def test_a_client_that_is_in_no_group_yet_has_generation_minus_one() -> None:
    """The real client's metadata has the form that is read here; a change of the form would show."""
    client = Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "group"})
    metadata = client.consumer_group_metadata()
    client.close()
    assert metadata.startswith(b"CGMDv2:")
    assert generation_of(metadata) == -1


def test_the_generation_follows_the_magic() -> None:
    """32 bits in the machine's byte order."""
    assert generation_of(b"CGMDv2:" + (7).to_bytes(4, "little") + b"group\0") == 7


def test_an_unknown_form_is_said_to_be_unknown() -> None:
    """Never a wrong number."""
    assert generation_of(b"CGMDv3:\0\0\0\0") == UNKNOWN_GENERATION
    assert generation_of(b"CGMDv2:\0") == UNKNOWN_GENERATION
