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
from ray.util.placement_group import PlacementGroup, placement_group
from ray.util.scheduling_strategies import (
    NodeAffinitySchedulingStrategy,
    PlacementGroupSchedulingStrategy,
)

import mgpo
from mgpo.config.errors import ConfigError
from mgpo.tracking.code_version import code_version

logger = logging.getLogger(__name__)

Device = Literal["cpu", "cuda"]
_RESERVATION_PATIENCE_S = 120.0
_SOURCE_ROOT = Path(mgpo.__file__).resolve().parent.parent


class ActorOptions(TypedDict, total=False):
    """Options of a Ray actor."""

    num_cpus: float
    num_gpus: float
    runtime_env: dict[str, Any]
    scheduling_strategy: NodeAffinitySchedulingStrategy | PlacementGroupSchedulingStrategy


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """What the cluster offers."""

    device: Device
    num_gpus: int
    """GPUs of all hosts."""
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
        # An actor's own output stays in Ray's log folder: progress bars and engines fill the log.
        ray.init(
            runtime_env={"env_vars": {"PYTHONPATH": path}},
            include_dashboard=None if os.environ.get("RAY_ADDRESS") else False,
            log_to_driver=False,
        )
    try:
        num_gpus = int(ray.cluster_resources().get("GPU", 0))
        if device == "cuda" and num_gpus == 0:
            raise ConfigError(
                "run.device is cuda, but the Ray cluster has no GPU; use run.device=auto or cpu"
            )
        chosen: Device = "cuda" if num_gpus and device != "cpu" else "cpu"
        logger.info("Ray %s, device %s, %d GPUs", ray.__version__, chosen, num_gpus)
        logger.info("driver: %s", code_version())
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
    """Devices and threads of learner ranks and rollout engines.

    On a CPU they take turns, so both get all cores. On GPUs each gets its own while there are
    enough; else rank i and engine i share one.
    """

    device: Device
    learner_options: tuple[ActorOptions, ...]
    """Of each rank."""
    rollout_options: tuple[ActorOptions, ...]
    """Of each engine."""
    is_shared: bool
    """Learner and engines share GPUs, so each must give back memory it does not use."""
    learner_threads: int
    rollout_threads: int

    @classmethod
    def plan(
        cls,
        cluster: Cluster,
        num_ranks: int,
        num_engines: int,
        gpus_per_engine: int = 1,
        *,
        one_host: bool = True,
    ) -> "Placement":
        """Share the cluster out; raises ConfigError if it has too few GPUs.

        `one_host` keeps all actors on the driver's host, through whose shared memory the weights
        then travel.
        """
        is_shared = cluster.device == "cuda" and _must_share(
            cluster, num_ranks, num_engines, gpus_per_engine
        )
        if cluster.device == "cpu" or one_host:
            share = 0.0 if cluster.device == "cpu" else 0.5 if is_shared else 1.0
            options = _local_options(cluster, share)
            learner_options, rollout_options = (options,) * num_ranks, (options,) * num_engines
        elif is_shared:
            group = _reserve([1] * num_ranks)
            learner_options = rollout_options = tuple(
                _gpu_options(group, bundle, 0.5) for bundle in range(num_ranks)
            )
        else:
            group = _reserve([1] * num_ranks + [gpus_per_engine] * num_engines)
            every = tuple(
                _gpu_options(group, bundle, 1 if bundle < num_ranks else gpus_per_engine)
                for bundle in range(num_ranks + num_engines)
            )
            learner_options, rollout_options = every[:num_ranks], every[num_ranks:]
        return cls(
            device=cluster.device,
            learner_options=learner_options,
            rollout_options=rollout_options,
            is_shared=is_shared,
            learner_threads=max(1, cluster.num_cores // num_ranks),
            rollout_threads=max(1, cluster.num_cores // num_engines),
        )


def _own_node() -> dict[str, Any]:
    """Ray's record of the host this process runs on."""
    own = ray.get_runtime_context().get_node_id()
    return next(node for node in ray.nodes() if node["NodeID"] == own)


def _local_options(cluster: Cluster, num_gpus: float) -> ActorOptions:
    return {
        "num_cpus": 0,
        "num_gpus": num_gpus,
        # Idle threads must sleep: the other kind of actor is computing.
        "runtime_env": {"env_vars": {"OMP_WAIT_POLICY": "PASSIVE"}},
        "scheduling_strategy": NodeAffinitySchedulingStrategy(cluster.node_id, soft=False),
    }


def _gpu_options(group: PlacementGroup, bundle: int, num_gpus: float) -> ActorOptions:
    return {
        "num_cpus": 0,
        "num_gpus": num_gpus,
        "scheduling_strategy": PlacementGroupSchedulingStrategy(
            group, placement_group_bundle_index=bundle
        ),
    }


def _must_share(cluster: Cluster, num_ranks: int, num_engines: int, gpus_per_engine: int) -> bool:
    """Whether ranks and engines share GPUs; raises ConfigError if even that is too little."""
    needed = num_ranks + num_engines * gpus_per_engine
    if cluster.num_gpus >= needed:
        return False
    if num_ranks == num_engines <= cluster.num_gpus and gpus_per_engine == 1:
        return True
    raise ConfigError(
        f"learner.num_ranks ({num_ranks}) + rollout.num_workers ({num_engines}) x "
        f"rollout.tensor_parallel_size ({gpus_per_engine}) need {needed} GPUs, the cluster has "
        f"{cluster.num_gpus}; lower them, or make ranks and workers equal with a "
        "tensor_parallel_size of 1, so that each pair shares a GPU"
    )


def _reserve(gpus: list[int]) -> PlacementGroup:
    """Reserve bundles of GPUs, on as few hosts as possible; they are free again when the driver
    ends."""
    group = placement_group([{"GPU": count} for count in gpus], strategy="PACK")
    try:
        ray.get(group.ready(), timeout=_RESERVATION_PATIENCE_S)
    except ray.exceptions.GetTimeoutError as error:
        raise ConfigError(
            f"waited {_RESERVATION_PATIENCE_S:.0f} s for {sum(gpus)} GPUs: other jobs hold them or "
            f"they lie too scattered (bundles of {sorted(set(gpus))}); free them or ask for fewer"
        ) from error
    return group
