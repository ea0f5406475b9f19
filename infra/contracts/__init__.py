"""The contracts between services as documents for those who write the other end, in any language.

Made from the types that the code itself uses, never by hand; a test fails when a document is stale. ``make contracts``
writes them to docs/contracts.
"""
