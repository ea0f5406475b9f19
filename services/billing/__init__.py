"""Billing: charges placed orders, issues their invoices, credits cancelled ones. Owns the ``billing`` database."""
