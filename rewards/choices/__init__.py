"""Answers to science questions: which option a response chooses, and whether two values agree.

`question.py` reads a row, `statements.py` finds where a response answers, `letters.py` reads
letters there, `selection.py` puts them together; `equality.py` compares texts, with `quantities.py`
on `si_units.py`, `chemistry.py` and, for formulas, `rewards.mathematics`.
"""
