"""Notifications: sends the e-mails that billing commands. Owns the ``notifications`` database, a ledger of mails."""
