"""Claim-level reliability: claims of trajectories, verdicts on them, and what follows."""
