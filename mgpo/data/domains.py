"""Rows of several domains side by side."""

from collections.abc import Mapping
from dataclasses import replace

from mgpo.config.domains import DomainConfig
from mgpo.data.rows import Row, load_rows


def load_domains(domains: Mapping[str, DomainConfig]) -> dict[str, list[Row]]:
    """Return the rows of each domain, their ids preceded by its name and a slash.

    Raises DataError.
    """
    return {name: _load(name, config) for name, config in domains.items()}


def _load(name: str, config: DomainConfig) -> list[Row]:
    rows = load_rows(config.rows, replace(config, domain=config.domain or name))
    return [replace(row, id=f"{name}/{row.id}") for row in rows]
