"""The pages of docs/reference: settings, metrics, commands, HTTP, events and errors, as the code has them.

Made from what the code itself runs on, never by hand; a test fails when a page is stale. ``make contracts`` writes
them.
"""
