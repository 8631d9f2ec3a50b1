"""Stages in order: which step makes what, what is done already, and what has changed since."""
