"""A hammer for the relay: writers that make an outbox hard to read, relays that die anywhere, a broker that is moody.

    python -m tests.hammer --seconds 60 --seed 7                   # the relay as it is: nothing may be found
    python -m tests.hammer --seconds 60 --wrong relay_reads_by_id  # a relay with a guard taken out: has to be found
    python -m tests.hammer --seconds 120 --crashes                 # asynchronous commits, and a server that crashes

Real PostgreSQL, the real relay; the log is the hammer's own instrument (``broker.py``), since what a real Kafka does
to order is tested beside it. The judge (``judge.py``) knows four things: whatever the outbox has in the end is in the
log; what a position covers is in the log at any moment; first copies of an aggregate stand in version order; a
position never goes back.

A seed decides what each writer and relay does next, not how threads and sessions interleave: a seed that finds
something finds it again soon, not at the same statement.
"""
