"""The rollout engines of a stage, whether it learns or only samples."""

from mgpo.cluster import Cluster, Placement
from mgpo.config.model import ModelConfig
from mgpo.config.rollout import EngineConfig
from mgpo.data.chat import ChatEncoder
from mgpo.rollout.engine import EngineSetup
from mgpo.rollout.engines import installed_vllm, resolve_engine
from mgpo.rollout.pool import RolloutPool


def find_engine(config: EngineConfig, cluster: Cluster) -> str:
    """Return the engine's class for what the cluster has installed. Raises ConfigError."""
    installed = cluster.call_on_engine_node(installed_vllm)
    return resolve_engine(config.engine, cluster.device, installed)


def start_rollouts(
    config: EngineConfig,
    engine: str,
    placement: Placement,
    encoder: ChatEncoder,
    model: ModelConfig,
    *,
    transfer_timeout_s: float = 600.0,
) -> RolloutPool:
    """Begin to load the engines."""
    setup = EngineSetup(
        model_path=model.source,
        dtype=model.dtype,
        rope=model.rope,
        device=placement.device,
        config=config,
        vocab_size=encoder.vocab_size,
        stop_token_ids=encoder.stop_token_ids,
        transfer_timeout_s=transfer_timeout_s,
        shares_device=placement.is_shared,
    )
    return RolloutPool(
        config,
        engine,
        setup,
        num_threads=placement.rollout_threads,
        options=placement.rollout_options,
        shares_device=placement.is_shared,
    )
