"""Break the system on purpose, keep independent records of what happened, and have them judged.

A scenario is data (``scenarios/``); ``run`` performs it on a copy of the system of its own; ``checker`` judges the
files that the run leaves behind and knows nothing of the code that it judges.
"""
