"""The engine ``cdc``: Debezium on Kafka Connect reads the events of an outbox from PostgreSQL's write-ahead log.

configuration   what Connect and a connector are told
worker          a Connect worker as a process; __main__ becomes one
slot            replication slots, and whose the positions of events are
connect         what Connect says of its connectors
"""
