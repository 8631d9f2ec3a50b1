"""Rollout engines, the Ray actor around one engine, and the pool of actors."""
