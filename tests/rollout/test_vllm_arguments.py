"""What vLLM is started with."""

import fakes
import pytest

from mgpo.config.model import RopeConfig
from mgpo.config.rollout import RolloutConfig
from mgpo.rollout.engine import EngineSetup
from mgpo.rollout.vllm_engine import VllmEngine


def arguments_of(model_path="model", rope=None, **rollout):
    setup = EngineSetup(
        model_path=model_path,
        rope=rope or RopeConfig(),
        dtype="bfloat16",
        device="cpu",
        config=RolloutConfig(**rollout),
        vocab_size=259,
        stop_token_ids={258},
    )
    return VllmEngine(setup).engine_arguments()


@pytest.mark.parametrize(("size", "backend"), [(1, None), (2, "mp")])
def test_workers_of_a_parallel_engine_are_its_own_processes(size, backend):
    """Inside an actor of a placement group vLLM would ask Ray for GPUs that the actor holds."""
    arguments = arguments_of(tensor_parallel_size=size)
    assert arguments["tensor_parallel_size"] == size
    assert arguments["distributed_executor_backend"] == backend


def test_nothing_is_left_to_the_models_folder():
    arguments = arguments_of(max_batch_samples=7, cpu_kv_cache_gib=0.5)
    assert arguments["generation_config"] == "vllm"
    assert arguments["logprobs_mode"] == "processed_logprobs"
    assert arguments["max_num_seqs"] == 7
    assert arguments["kv_cache_memory_bytes"] == 2**29


def test_a_longer_context_overrides_the_models_config(tmp_path):
    fakes.make_model(tmp_path, seed=0)
    rope = RopeConfig(factor=2.0, original_context=fakes.CONTEXT_TOKENS)
    arguments = arguments_of(model_path=str(tmp_path), rope=rope)
    assert arguments["hf_overrides"]["max_position_embeddings"] == 2 * fakes.CONTEXT_TOKENS
    assert arguments["hf_overrides"]["rope_parameters"]["rope_type"] == "yarn"
    assert arguments_of()["hf_overrides"] == {}
