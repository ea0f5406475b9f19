"""The tables that are there already. Their migrations belong to somebody else, so Django makes none."""

from django.db import models
from django.utils import timezone


class Order(models.Model):
    order_id = models.UUIDField(primary_key=True)
    customer_id = models.TextField()
    email = models.TextField()
    currency = models.TextField()
    amount_minor = models.BigIntegerField()
    lines = models.JSONField()
    state = models.TextField()
    version = models.IntegerField()
    """Counts the order's events: each change that tells of itself raises it by one."""
    invoice_number = models.TextField(null=True)
    placed_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        managed = False
        db_table = "orders"
