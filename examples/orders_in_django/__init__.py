"""The order service in Django: models, ``transaction.atomic``, and the outbox through Django's own connection."""
