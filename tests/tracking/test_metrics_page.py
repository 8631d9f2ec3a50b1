"""docs/metrics.md explains every metric that the code names."""

import re
from pathlib import Path

import mgpo
from mgpo.tracking.metrics import AREAS

_KEY = re.compile(rf'"((?:{"|".join(AREAS)})/[a-z0-9_]+)"')
_TIMED = re.compile(r'\.time\("([a-z0-9_]+)"\)')


def test_every_metric_in_the_code_is_explained() -> None:
    root = Path(mgpo.__file__).parents[1]
    sources = [
        path.read_text(encoding="utf-8")
        for package in ("mgpo", "rewards")
        for path in (root / package).rglob("*.py")
    ]
    keys = {key for source in sources for key in _KEY.findall(source)}
    keys |= {f"time/{name}_s" for source in sources for name in _TIMED.findall(source)}
    assert "time/update_s" in keys
    page = (root / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert sorted(key for key in keys if f"`{key}`" not in page) == []
