"""Range checks with one wording: what was got, what is allowed, which key to change."""


def require_at_least(key: str, value: float, low: float) -> None:
    """Raise ValueError unless `value >= low`."""
    if not value >= low:
        raise ValueError(f"{key} must be at least {low}, got {value}")


def require_above(key: str, value: float, low: float) -> None:
    """Raise ValueError unless `value > low`."""
    if not value > low:
        raise ValueError(f"{key} must be above {low}, got {value}")


def require_within(key: str, value: float, low: float, high: float) -> None:
    """Raise ValueError unless `low <= value <= high`."""
    if not low <= value <= high:
        raise ValueError(f"{key} must be from {low} to {high}, got {value}")
