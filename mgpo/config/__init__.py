"""Structured configuration: one small dataclass file per component, `load.py` merges and
explains."""
