"""The services: each folder is one deployable, and they meet only in Kafka (and orders' and billing's queue)."""
