"""Metrics, samples and the record of a run."""
