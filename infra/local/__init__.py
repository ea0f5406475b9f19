"""The local stack: PostgreSQL, Kafka, Redis and our services as ordinary processes, without Docker and without root.

Everything listens on 127.0.0.1, keeps its data in one folder (the *home*) and runs under a process supervisor.
It is for development, tests, demos and lessons on one machine; it promises nothing about high availability.
"""
