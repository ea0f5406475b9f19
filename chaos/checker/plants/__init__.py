"""The violations that the canaries put in, one per invariant; see `chaos.checker.canary`.

Each takes a sample of the evidence and returns it with one thing wrong, or raises CannotPlant when the run has nothing
that could be wrong in this way.
"""
