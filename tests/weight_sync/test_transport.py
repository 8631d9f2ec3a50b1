"""Transfers go to the engines that live."""

import pytest

from mgpo.config.weight_sync import WeightSyncConfig
from mgpo.weight_sync.transport import NativeTransport
from mgpo.weight_sync.types import LoadReport

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("ray_cluster")]


class Receiver:
    """An engine's actor, as a transfer sees it."""

    def pid(self):
        return 1

    def confirm_weights(self, policy_version):
        return LoadReport(policy_version=policy_version, digests={"w": "d"})


class Learner:
    """Notes to whom it sends."""

    def __init__(self):
        self.receivers = []

    def send_weights(self, transfer):
        self.receivers.append(transfer.engines)
        return {"w": "d"}, 4


@pytest.fixture
def engines():
    import ray

    actors = [ray.remote(Receiver).options(num_cpus=0).remote() for _ in range(2)]
    yield actors
    for actor in actors:
        ray.kill(actor)


def test_a_dead_engine_is_left_out_and_reported(engines):
    import ray

    ray.kill(engines[0])
    learner = Learner()
    weights = NativeTransport(WeightSyncConfig(), learner, "nccl", 1).publish(3)
    dead, report = weights.deliver(engines)
    assert dead is None
    assert report == LoadReport(policy_version=3, digests={"w": "d"})
    assert learner.receivers == [(engines[1],)]
    assert (weights.digests, weights.num_bytes) == ({"w": "d"}, 4)


def test_nothing_is_sent_when_all_are_dead(engines):
    import ray

    for engine in engines:
        ray.kill(engine)
    learner = Learner()
    weights = NativeTransport(WeightSyncConfig(), learner, "nccl", 1).publish(3)
    assert weights.deliver(engines) == [None, None]
    assert learner.receivers == []
