"""Equality of mathematical answers: from text over structures and exact values to numeric probes.

`equivalence.py` has the ladder; every other module is one of its rungs or what a rung stands on.
Only `probes.py` needs mpmath and only `symbolic.py` math-verify, both imported where they are used.
"""
