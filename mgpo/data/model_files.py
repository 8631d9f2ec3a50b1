"""What a model's files say about it, before any weight is loaded."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mgpo.config.errors import ConfigError
from mgpo.config.model import RopeConfig

_LOGIT_CHANGES = ("final_logit_softcapping", "logit_scale", "logits_scaling")
_HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w.-]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelFacts:
    """The numbers of a config.json that limit what can be trained."""

    context_tokens: int | None
    """Longest sequence the model was made for; None: its config names none."""
    vocab_size: int
    """Rows of the embedding, padding included."""


def is_hub_name(path: str) -> bool:
    """Whether `model.path` names a model of the hub.

    Raises ConfigError for a path that is neither that nor a folder with a config.json.
    """
    folder = Path(path)
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise ConfigError(f"model.path {path}: the folder has no config.json")
        return False
    if _HUB_NAME.fullmatch(path) and not folder.parent.exists():
        return True
    raise ConfigError(
        f"model.path {path}: no such folder; give one in Hugging Face format or a hub name org/name"
    )


def is_cached(hub_name: str) -> bool:
    """Whether config and tokenizer of a hub model lie in the local cache; asks no server."""
    from huggingface_hub import try_to_load_from_cache

    return all(
        isinstance(try_to_load_from_cache(hub_name, name), str)
        for name in ("config.json", "tokenizer_config.json")
    )


def _refuse_unsupported(path: str, fields: Mapping[str, Any]) -> None:
    """Raise ConfigError for a model that learner and engine would compute differently."""
    for name in _LOGIT_CHANGES:
        if fields.get(name) not in (None, 1.0):
            raise ConfigError(
                f"model.path {path}: {name}={fields[name]} changes the logits, which the log-prob "
                "head does not support; use a model without it"
            )
    kinds = set(fields.get("layer_types") or ["full_attention"])
    is_windowed = fields.get("sliding_window") and fields.get("use_sliding_window", True)
    if kinds != {"full_attention"} or is_windowed:
        raise ConfigError(
            f"model.path {path}: attention other than full causal attention (sliding windows, "
            "linear layers) is not supported; use a model without it"
        )


def load_model_config(
    path: str, rope: RopeConfig | None = None, *, local_files_only: bool = False
) -> Any:
    """Return the model's transformers config with the rotary embedding that is asked for.

    Everybody who loads the model does it with this config. Raises ConfigError if there is none, or
    if its rotary embedding is scaled already, in another way.
    """
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(path, local_files_only=local_files_only)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"model.path {path}: no usable config.json: {reason}") from error
    if rope is not None and rope.factor is not None:
        _scale_rope(path, config, rope)
    return config


def _scale_rope(path: str, config: Any, rope: RopeConfig) -> None:
    own = dict(getattr(config, "rope_parameters", None) or {})
    asked = {
        "rope_type": "yarn",
        "factor": rope.factor,
        "original_max_position_embeddings": rope.original_context,
    }
    if own.get("rope_type", "default") != "default":
        if any(own.get(key) != value for key, value in asked.items()):
            raise ConfigError(
                f"model.path {path}: its rotary embedding is scaled already ({own}); leave "
                "model.rope.factor out to keep it so"
            )
        return
    if config.max_position_embeddings != rope.original_context:
        raise ConfigError(
            f"model.path {path}: was made for {config.max_position_embeddings} tokens "
            f"(max_position_embeddings), but model.rope.original_context is "
            f"{rope.original_context}; set it to the former"
        )
    config.rope_parameters = own | asked
    config.max_position_embeddings = rope.context


def read_model_facts(
    path: str, rope: RopeConfig | None = None, *, local_files_only: bool = False
) -> ModelFacts:
    """Read the model's config. Raises ConfigError if it cannot be found or understood."""
    config = load_model_config(path, rope, local_files_only=local_files_only)
    text = config.get_text_config().to_dict()
    _refuse_unsupported(path, text)
    return ModelFacts(
        context_tokens=text.get("max_position_embeddings"), vocab_size=text["vocab_size"]
    )
