"""The judge of a run: reads its evidence, holds every invariant against it, and says what that comes to.

Pure: plain files in, a verdict out. It imports the standard library and nothing of the system it judges, so that a
fault in an envelope or a table cannot hide itself here; with msgspec it reads faster, and no other. It is linear in the
evidence.
"""
