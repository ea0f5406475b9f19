"""Measurements: rival ways of doing one thing, side by side in one run, as ratios with their spread.

A figure of one machine on one day says little; a ratio between two ways, taken in alternating rounds on the same
servers with the same rows, says which to choose. Rivals that are wrong on purpose (a textbook relay, a look before the
insert) live here too: they are measured, never deployed.

Not promised: that absolute rates carry over to another machine. Tables name the machine they come from.
"""
