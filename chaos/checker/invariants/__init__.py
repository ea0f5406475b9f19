"""The invariants, a file per family; `registry.py` lists them all."""
