"""A push that goes wrong in any way is caught and named; a right one is proved."""

import os

import fakes
import pytest
from engine_checks import CANARY, ROW, VOCAB_SIZE

from mgpo.algorithm.policy_loss import batch_denominator
from mgpo.config.algorithm import AlgorithmConfig
from mgpo.config.learner import LearnerConfig
from mgpo.config.rollout import RolloutConfig
from mgpo.config.weight_sync import WeightSyncConfig
from mgpo.learner.setup import LearnerSetup

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.usefixtures("ray_cluster")]

OPTIONS = {
    "num_cpus": 0,
    "runtime_env": {"env_vars": {"PYTHONPATH": os.pathsep.join([".", "tests"])}},
}


@pytest.fixture(scope="module")
def model_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    fakes.make_model(path, seed=3)
    return str(path)


@pytest.fixture(scope="module")
def learner(model_path):
    from mgpo.learner.pool import LearnerPool

    setup = LearnerSetup(
        learner=LearnerConfig(lr=1e-2, warmup_steps=0),
        dtype="float32",
        algorithm=AlgorithmConfig(),
        model_source=str(model_path),
        vocab_size=VOCAB_SIZE,
        temperature=0.7,
        device="cpu",
        shares_device=False,
        num_threads=1,
    )
    pool = LearnerPool(setup, total_updates=100, options=[OPTIONS])
    yield pool
    pool.close()


@pytest.fixture
def make_sync(model_path, learner, tmp_path):
    from mgpo.rollout.pool import RolloutPool
    from mgpo.weight_sync.push import WeightSync
    from mgpo.weight_sync.transport import SharedMemoryTransport

    opened = []

    def make(fault="none", bucket_mib=1):
        config = RolloutConfig(temperature=0.7)
        pool = RolloutPool(
            config,
            "fake_engines:FaultyPushEngine",
            {
                "fault": fault,
                "model_path": model_path,
                "dtype": "float32",
                "device": "cpu",
                "config": config,
                "vocab_size": VOCAB_SIZE,
                "stop_token_ids": [258],
            },
            num_threads=1,
            options=[OPTIONS],
        )
        sync_config = WeightSyncConfig(bucket_mib=bucket_mib)
        transport = SharedMemoryTransport(sync_config, learner, tmp_path, 60)
        sync = WeightSync(sync_config, transport, learner, pool, [CANARY], "float32")
        opened.extend([sync, pool])
        return sync

    yield make
    for item in opened:
        item.close()


def update(learner):
    assert batch_denominator([30], AlgorithmConfig()) == 1
    metrics = learner.update([[ROW]], objective="policy", first_update=0)
    assert metrics["learner/skipped_updates"] == 0


def test_a_right_push_is_exact_and_fp32_logprobs_agree(make_sync, learner):
    sync = make_sync()
    sync.push(0)
    update(learner)
    metrics = sync.push(1)
    assert metrics["sync/canary_gap_max"] <= 1e-4
    assert sync.policy_version == 1


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("skip", r"holds other bytes.*in 2\d of 2\d tensors: model\."),
        ("skip_and_lie", r"canary 0 differs from the learner's log-probs"),
        ("stale_head", r"in 1 of 2\d tensors: model\.embed_tokens\.weight"),
        ("swapped", r"in 2 of 2\d tensors: model\.layers\.0\.mlp\.gate_proj\.weight, .*up_proj"),
        ("drop_bucket", r"missing \['model\.embed_tokens\.weight'"),
    ],
)
def test_a_planted_fault_is_caught_and_named(make_sync, learner, fault, message):
    sync = make_sync(fault)
    sync.push(0)
    update(learner)
    with pytest.raises(Exception, match=message):
        sync.push(1)
    assert sync.policy_version == 0
