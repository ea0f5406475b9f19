"""Load over HTTP only: what customers do, at a constant rate, with a journal to judge by. Imports nothing of ours."""
