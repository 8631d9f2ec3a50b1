"""What each rank and engine gets of a cluster."""

import pytest

from mgpo import cluster as cluster_module
from mgpo.cluster import Cluster, Node, Placement
from mgpo.config.errors import ConfigError


def make_cluster(device="cuda", gpus=(0,)):
    """Hosts with so many GPUs each, the driver's first."""
    nodes = tuple(
        Node(id=f"{index:056x}", address=f"10.0.0.{index}", num_gpus=count, num_cpus=64)
        for index, count in enumerate(gpus)
    )
    return Cluster(device=device, nodes=nodes, num_cores=8)


@pytest.fixture
def reserved(monkeypatch):
    """The bundles that are asked for, instead of a placement group of GPUs that aren't here."""
    asked = []

    def reserve(gpus, address):
        asked.append((gpus, address))
        return "group"

    monkeypatch.setattr(cluster_module, "_reserve", reserve)
    return asked


def gpus_of(options):
    return [actor["num_gpus"] for actor in options]


def bundles_of(options):
    return [actor["scheduling_strategy"].placement_group_bundle_index for actor in options]


def test_on_a_cpu_all_are_on_the_drivers_host_with_all_cores():
    placement = Placement.plan(make_cluster("cpu"), 2, 1)
    assert len(placement.learner_options) == 2
    assert gpus_of(placement.learner_options + placement.rollout_options) == [0.0, 0.0, 0.0]
    assert placement.learner_options[0]["scheduling_strategy"].node_id == "0" * 56
    assert (placement.learner_threads, placement.rollout_threads) == (4, 8)
    assert not placement.is_shared


def test_with_enough_gpus_each_has_its_own(reserved):
    placement = Placement.plan(make_cluster(gpus=(0, 8)), 4, 2, 2, one_host=False)
    assert reserved == [([1, 1, 1, 1, 2, 2], None)]
    assert gpus_of(placement.learner_options) == [1, 1, 1, 1]
    assert gpus_of(placement.rollout_options) == [2, 2]
    assert bundles_of(placement.rollout_options) == [4, 5]
    assert (placement.learner_threads, placement.rollout_threads) == (8, 16)
    assert not placement.is_shared


def test_equal_numbers_share_gpus_in_pairs(reserved):
    placement = Placement.plan(make_cluster(gpus=(0, 8)), 8, 8, one_host=False)
    assert reserved == [([1] * 8, None)]
    assert gpus_of(placement.learner_options) == [0.5] * 8
    assert bundles_of(placement.learner_options) == bundles_of(placement.rollout_options)
    assert placement.is_shared


@pytest.mark.parametrize(("ranks", "engines", "tensor_parallel"), [(8, 2, 1), (4, 4, 2), (9, 9, 1)])
def test_too_few_gpus_are_refused_with_the_sum(reserved, ranks, engines, tensor_parallel):
    needed = ranks + engines * tensor_parallel
    with pytest.raises(ConfigError, match=f"need {needed} GPUs, the cluster has 8"):
        Placement.plan(make_cluster(gpus=(0, 8)), ranks, engines, tensor_parallel, one_host=False)
    assert reserved == []


def test_one_host_reserves_gpus_of_the_drivers(reserved):
    placement = Placement.plan(make_cluster(gpus=(4, 8)), 2, 2)
    assert reserved == [([1, 1, 1, 1], "10.0.0.0")]
    assert bundles_of(placement.rollout_options) == [2, 3]
    assert placement.learner_threads == 16


def test_pairs_on_one_host_share_a_bundle_each(reserved):
    placement = Placement.plan(make_cluster(gpus=(2, 8)), 2, 2)
    assert reserved == [([1, 1], "10.0.0.0")]
    assert bundles_of(placement.learner_options) == bundles_of(placement.rollout_options) == [0, 1]
    assert placement.is_shared


@pytest.mark.parametrize("gpus", [(0, 8), (1, 1)])
def test_gpus_of_other_hosts_do_not_count_on_one_host(reserved, gpus):
    with pytest.raises(ConfigError, match=rf"driver's host, .*hf, has {gpus[0]}"):
        Placement.plan(make_cluster(gpus=gpus), 2, 1)
    assert reserved == []


def test_packages_are_looked_up_where_engines_run():
    assert make_cluster("cpu", gpus=(0, 8)).engine_node.address == "10.0.0.0"
    assert make_cluster(gpus=(0, 8)).engine_node.address == "10.0.0.1"
    assert make_cluster(gpus=(1, 8)).engine_node.address == "10.0.0.0"
    assert make_cluster(gpus=(1, 8)).call_on_engine_node(lambda: 5) == 5


def test_what_was_reserved_can_be_released_for_the_next(reserved, monkeypatch):
    removed = []
    monkeypatch.setattr(cluster_module, "remove_placement_group", removed.append)
    Placement.plan(make_cluster(gpus=(1,)), 0, 1).release()
    Placement.plan(make_cluster(gpus=(1,)), 1, 0).release()
    assert reserved == [([1], "10.0.0.0"), ([1], "10.0.0.0")]
    assert removed == ["group", "group"]
    Placement.plan(make_cluster("cpu"), 1, 0).release()  # nothing to let go of
    assert len(removed) == 2
