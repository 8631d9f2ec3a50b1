"""The domains that models are sampled on, each with rows of its own."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from omegaconf import MISSING

from mgpo.config.data import RowsConfig


@dataclass(frozen=True, kw_only=True)
class DomainConfig(RowsConfig):
    """The rows of a domain, which is named by its section's key."""

    rows: str = MISSING
    """Source of the rows, written as `data.train` is."""
    domain: str = ""
    """Domain of rows that name none, which decides their reward; empty: the section's key."""


@dataclass(frozen=True, kw_only=True)
class ProbeDomainConfig(DomainConfig):
    """A domain that checkpoints are compared on, whole or in parts."""

    split_by: str | None = None
    """Field of the rows whose values name sub-domains, each of which is measured, too."""
    specialists: Literal["domain", "subdomain"] = "domain"
    """Whether a specialist is chosen for the whole domain or for each of its sub-domains (the
    report's 1.5B model: four of mathematics)."""


def check_domain_names(key: str, names: Iterable[str]) -> None:
    """Raise ValueError unless there are names, all fit for files and ids."""
    if not names:
        raise ValueError(f"{key} must name at least one domain, e.g. {key}.math.rows=math.jsonl")
    for name in names:
        if not name.strip(". ") or "/" in name:
            raise ValueError(f"{key}: a domain has a plain name without /, got {name!r}")
