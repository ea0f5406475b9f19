"""How the system stands: processes, lag of consumers, backlog of relays, what was parked, invoices without mail.

Reads servers from outside, like an operator would, and imports nothing of the services.
"""
