"""A push that goes wrong in any way is caught and named; a right one is proved."""

import pytest

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.usefixtures("ray_cluster")]


@pytest.fixture(scope="module")
def pushes(tmp_path_factory):
    from pushes import Pushes

    pushes = Pushes(tmp_path_factory.mktemp("model"), "faulty_hf_engines:FaultyPushHfEngine")
    yield pushes
    pushes.close()


def test_a_right_push_is_exact_and_fp32_logprobs_agree(pushes):
    for version in (1, 2):
        assert pushes.push_update()["sync/canary_gap_max"] <= 1e-4
        assert pushes.sync.policy_version == version


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
def test_a_planted_fault_is_caught_and_named(pushes, fault, message):
    before = pushes.sync.policy_version
    with pytest.raises(Exception, match=message):
        pushes.push_update(fault)
    assert pushes.sync.policy_version == before


def test_the_engine_is_right_again_after_the_next_push(pushes):
    assert pushes.push_update()["sync/canary_gap_max"] <= 1e-4
