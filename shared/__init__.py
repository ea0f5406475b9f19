"""What two services must agree on in order to talk: events, envelope, outbox, inbox, consumer.

Admission rule: used by two services, no business word outside ``events.py``, and nothing imported from above
(services, chaos, infra). Code that only one service uses stays there, however general it looks.
"""
