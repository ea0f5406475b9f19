"""Consumer groups are sent back in their topics, or a read model is built again. docs/replay.md tells when and how."""
