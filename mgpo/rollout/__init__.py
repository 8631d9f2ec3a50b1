"""Rollout engines, the Ray actor around one engine, and the pool of actors."""

ENGINES = {"hf": "mgpo.rollout.hf_engine:HfEngine"}
"""Engine name in the config -> class, imported by the worker only."""
