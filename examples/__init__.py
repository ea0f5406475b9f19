"""The order service as other people would have it: in Django, and in FastAPI with SQLAlchemy's asynchronous engine.

What they take from this project is ``shared.outbox`` with its events; their use cases know nothing else of it. They
work on the same database with the same rights and answer the same requests, so that they can stand in for
``services.orders`` in any scenario and be judged by the same judge: ``chaos/adopted``.

Left out, since it has nothing to do with an outbox: the gate for a long backlog, admin endpoints, metrics and traces.
"""
