"""Order ids that crowd into one partition, as a popular key does: for a process that is started with ``HOT_KEYS``.

Ids are drawn until one falls where it should, so they are as good as any other; only their distribution is not. The
service's code is untouched: it asks the library for an id and gets one.
"""

import random
from uuid import UUID

import uuid_utils.compat

PARTITIONS = 12
HOT_PARTITION = 0
_PLAIN = uuid_utils.compat.uuid7


def skew(share: float) -> None:
    """Have this share of all ids of this process fall into the hot partition. To be called before services load."""

    def uuid7(*, nanoseconds: int | None = None) -> UUID:
        found = _PLAIN(nanoseconds=nanoseconds)
        if random.random() < share:  # noqa: S311 - a workload, not a secret
            while partition_of(str(found)) != HOT_PARTITION:
                found = _PLAIN(nanoseconds=nanoseconds)
        return found

    uuid_utils.compat.uuid7 = uuid7


def partition_of(key: str) -> int:
    """The partition that Kafka's own clients put a key in: murmur2, without its sign, modulo their number."""
    return (_murmur2(key.encode()) & 0x7FFFFFFF) % PARTITIONS


def _murmur2(data: bytes) -> int:
    mask, factor = 0xFFFFFFFF, 0x5BD1E995
    found = 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for place in range(0, whole, 4):
        word = int.from_bytes(data[place : place + 4], "little") * factor & mask
        word = (word ^ word >> 24) * factor & mask
        found = found * factor & mask ^ word
    if rest := data[whole:]:
        found = (found ^ int.from_bytes(rest, "little")) * factor & mask
    found = (found ^ found >> 13) * factor & mask
    return found ^ found >> 15
