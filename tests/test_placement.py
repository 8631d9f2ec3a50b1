"""What each rank and engine gets of a cluster."""

import pytest

from mgpo import cluster as cluster_module
from mgpo.cluster import Cluster, Placement
from mgpo.config.errors import ConfigError


def make_cluster(device="cuda", num_gpus=0):
    return Cluster(device=device, num_gpus=num_gpus, num_cores=8, node_id="ab" * 28)


@pytest.fixture
def reserved(monkeypatch):
    """The bundles that are asked for, instead of a placement group of GPUs that aren't here."""
    asked = []
    monkeypatch.setattr(cluster_module, "_reserve", lambda gpus: asked.append(gpus) or "group")
    return asked


def gpus_of(options):
    return [actor["num_gpus"] for actor in options]


def bundles_of(options):
    return [actor["scheduling_strategy"].placement_group_bundle_index for actor in options]


def test_on_a_cpu_all_are_on_the_drivers_host_with_all_cores():
    placement = Placement.plan(make_cluster("cpu"), 2, 1)
    assert len(placement.learner_options) == 2
    assert gpus_of(placement.learner_options + placement.rollout_options) == [0.0, 0.0, 0.0]
    assert placement.learner_options[0]["scheduling_strategy"].node_id == "ab" * 28
    assert (placement.learner_threads, placement.rollout_threads) == (4, 8)
    assert not placement.is_shared


def test_with_enough_gpus_each_has_its_own(reserved):
    placement = Placement.plan(make_cluster(num_gpus=8), 4, 2, 2, one_host=False)
    assert reserved == [[1, 1, 1, 1, 2, 2]]
    assert gpus_of(placement.learner_options) == [1, 1, 1, 1]
    assert gpus_of(placement.rollout_options) == [2, 2]
    assert bundles_of(placement.rollout_options) == [4, 5]
    assert not placement.is_shared


def test_equal_numbers_share_gpus_in_pairs(reserved):
    placement = Placement.plan(make_cluster(num_gpus=8), 8, 8, one_host=False)
    assert reserved == [[1] * 8]
    assert gpus_of(placement.learner_options) == [0.5] * 8
    assert bundles_of(placement.learner_options) == bundles_of(placement.rollout_options)
    assert placement.is_shared


@pytest.mark.parametrize(("ranks", "engines", "tensor_parallel"), [(8, 2, 1), (4, 4, 2), (9, 9, 1)])
def test_too_few_gpus_are_refused_with_the_sum(reserved, ranks, engines, tensor_parallel):
    needed = ranks + engines * tensor_parallel
    with pytest.raises(ConfigError, match=f"need {needed} GPUs, the cluster has 8"):
        Placement.plan(make_cluster(num_gpus=8), ranks, engines, tensor_parallel, one_host=False)
    assert reserved == []
