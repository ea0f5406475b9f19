"""How a run is told to people: a live picture on a terminal, plain lines everywhere else, and the verdict at the end.

Nothing here decides anything. Sentences are marked for translation.
"""
