"""The relay: publishes what is committed in an outbox, in order, until its own position says that it has."""
