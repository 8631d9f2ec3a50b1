"""Checks that touch no GPU."""
