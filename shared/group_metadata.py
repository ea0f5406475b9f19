"""Read the group's generation out of the client's serialised group metadata.

The client hands the metadata out as opaque bytes, for transactional producers. They hold the generation (classic
protocol) or the member epoch (KIP-848), which an effect's provenance needs: a counter of the process's own could not
tell an older owner of a partition from a newer one. Form, read from librdkafka's
``rd_kafka_consumer_group_metadata_write``: the magic ``CGMDv2:``, then 32 bits in the machine's byte order.
"""

import struct
from typing import Final

_MAGIC: Final = b"CGMDv2:"
UNKNOWN_GENERATION: Final = -1


def generation_of(metadata: bytes) -> int:
    """Return the generation in serialised group metadata, or -1 when its form is not known."""
    if not metadata.startswith(_MAGIC) or len(metadata) < len(_MAGIC) + 4:
        return UNKNOWN_GENERATION
    (generation,) = struct.unpack_from("=i", metadata, len(_MAGIC))
    return int(generation)
