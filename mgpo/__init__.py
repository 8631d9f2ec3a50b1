"""Reinforcement learning for small reasoning models: MGPO on Ray."""
