"""Reward plugins for tests, named by dotted path."""


def even_length(response: str, reference: object, **fields: object) -> bool:
    """Right for about half of what a random model says."""
    return len(response.encode()) % 2 == 0
