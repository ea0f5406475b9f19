"""The second mutation score, of the checker's own rules: ``python -m tests.mutants [MODULE ...]``.

mutmut changes the rules in every small way it knows, one at a time; each changed rule is asked about good histories and
about every corruption. A change that nobody notices is a hole in the corruptions, or it changes nothing: then it stands
in ``equivalent.toml``, with the reason. Sentences are left alone: another word is no other rule.
"""
