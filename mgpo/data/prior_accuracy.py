"""Rows for `algorithm.accuracy_source: prior` bring their accuracy along."""

from collections.abc import Iterable
from typing import Any, TypeGuard

from mgpo.config.errors import DataError
from mgpo.data.rows import Row


def check_prior_accuracy(rows: Iterable[Row]) -> None:
    """Raise DataError unless each row says how often which model solved it in how many tries."""
    for row in rows:
        accuracy = row.fields.get("accuracy")
        count = row.fields.get("accuracy_n")
        model = row.fields.get("accuracy_model")
        if not (_is_number(accuracy) and 0 <= accuracy <= 1):
            raise _error(row, "accuracy", f"a number from 0 to 1, got {accuracy!r}")
        if not (_is_number(count) and count >= 1 and count == int(count)):
            raise _error(row, "accuracy_n", f"the number of tries, at least 1, got {count!r}")
        if not isinstance(model, str) or not model.strip():
            raise _error(row, "accuracy_model", f"the name of a model, got {model!r}")


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _error(row: Row, field: str, needed: str) -> DataError:
    return DataError(f"{row.where}, field {field}: algorithm.accuracy_source=prior needs {needed}")
