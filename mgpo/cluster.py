"""Ray: where it runs, which device it has, and what each kind of actor gets of it."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import mgpo
from mgpo.config.errors import ConfigError

logger = logging.getLogger(__name__)

Device = Literal["cpu", "cuda"]
_SOURCE_ROOT = Path(mgpo.__file__).resolve().parent.parent


class ActorOptions(TypedDict, total=False):
    """Options of a Ray actor."""

    num_cpus: float
    num_gpus: float
    runtime_env: dict[str, Any]
    scheduling_strategy: NodeAffinitySchedulingStrategy


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """What the cluster offers."""

    device: Device
    num_gpus: int
    """GPUs of this host: weights travel through its shared memory."""
    num_cores: int
    """Cores of this host."""
    node_id: str
    """Ray's name of this host."""


@contextmanager
def start_cluster(device: Literal["auto", "cpu", "cuda"]) -> Iterator[Cluster]:
    """Join the cluster at RAY_ADDRESS, or start a local one that ends with the block.

    Actors import this very mgpo, and the driver's import path with it (users' reward plugins).
    Raises ConfigError if `cuda` is asked for and the cluster has no GPU.
    """
    is_ours = not ray.is_initialized()
    if is_ours:
        path = os.pathsep.join([str(_SOURCE_ROOT), *(entry for entry in sys.path if entry)])
        runtime_env = {"env_vars": {"PYTHONPATH": path}}
        if os.environ.get("RAY_ADDRESS"):
            ray.init(runtime_env=runtime_env)
        else:
            ray.init(include_dashboard=False, runtime_env=runtime_env, log_to_driver=False)
    try:
        num_gpus = int(_own_node()["Resources"].get("GPU", 0))
        if device == "cuda" and num_gpus == 0:
            raise ConfigError(
                "run.device is cuda, but Ray has no GPU on this host; use run.device=auto or cpu"
            )
        chosen: Device = "cuda" if num_gpus and device != "cpu" else "cpu"
        logger.info(
            "mgpo at %s on Ray %s, device %s, %d GPUs",
            _SOURCE_ROOT,
            ray.__version__,
            chosen,
            num_gpus,
        )
        yield Cluster(
            device=chosen,
            num_gpus=num_gpus,
            num_cores=len(os.sched_getaffinity(0)),
            node_id=_own_node()["NodeID"],
        )
    finally:
        if is_ours:
            ray.shutdown()


@dataclass(frozen=True, kw_only=True, slots=True)
class Placement:
    """Devices and threads of learner ranks and rollout workers.

    On a CPU they take turns, so both get all cores. On GPUs each gets its own while there are
    enough; one rank and
    one worker may share a single GPU.
    """

    device: Device
    learner_options: ActorOptions
    rollout_options: ActorOptions
    is_shared: bool
    """Learner and engine share one GPU, so each must give back memory it does not use."""
    learner_threads: int
    rollout_threads: int

    @classmethod
    def plan(cls, cluster: Cluster, num_ranks: int, num_workers: int) -> "Placement":
        """Share the cluster out; raises ConfigError if it has too few GPUs."""
        share = 0.0 if cluster.device == "cpu" else _gpu_share(cluster, num_ranks, num_workers)
        options: ActorOptions = {
            "num_cpus": 0,
            "num_gpus": share,
            # Idle threads must sleep: the other kind of actor is computing.
            "runtime_env": {"env_vars": {"OMP_WAIT_POLICY": "PASSIVE"}},
            "scheduling_strategy": NodeAffinitySchedulingStrategy(cluster.node_id, soft=False),
        }
        return cls(
            device=cluster.device,
            learner_options=options,
            rollout_options=options,
            is_shared=0 < share < 1,
            learner_threads=max(1, cluster.num_cores // num_ranks),
            rollout_threads=max(1, cluster.num_cores // num_workers),
        )


def _own_node() -> dict[str, Any]:
    """Ray's record of the host this process runs on."""
    own = ray.get_runtime_context().get_node_id()
    return next(node for node in ray.nodes() if node["NodeID"] == own)


def _gpu_share(cluster: Cluster, num_ranks: int, num_workers: int) -> float:
    if cluster.num_gpus >= num_ranks + num_workers:
        return 1.0
    if num_ranks == num_workers == 1:
        return 0.5
    raise ConfigError(
        f"learner.num_ranks ({num_ranks}) + rollout.num_workers ({num_workers}) need "
        f"{num_ranks + num_workers} GPUs, this host has {cluster.num_gpus}; lower them"
    )
