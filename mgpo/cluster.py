"""Ray: where it runs, which device it has, and what each kind of actor gets of it."""

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict, TypeVar

import ray
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import (
    NodeAffinitySchedulingStrategy,
    PlacementGroupSchedulingStrategy,
)

import mgpo
from mgpo.config.errors import ConfigError, UserError
from mgpo.ray_address import cluster_address
from mgpo.tracking.code_version import code_version

logger = logging.getLogger(__name__)

Device = Literal["cpu", "cuda"]
T = TypeVar("T")
_RESERVATION_PATIENCE_S = 120.0
_SOURCE_ROOT = Path(mgpo.__file__).resolve().parent.parent


class ActorOptions(TypedDict, total=False):
    """Options of a Ray actor."""

    num_cpus: float
    num_gpus: float
    runtime_env: dict[str, Any]
    scheduling_strategy: NodeAffinitySchedulingStrategy | PlacementGroupSchedulingStrategy


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """A host of the cluster."""

    id: str
    """Ray's name of it."""
    address: str
    num_gpus: int
    num_cpus: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """What the cluster offers."""

    device: Device
    nodes: tuple[Node, ...]
    """All hosts, this one first."""
    num_cores: int
    """Cores of this host."""

    @property
    def engine_node(self) -> Node:
        """A host that engines run on: this one if it will do."""
        return next(
            (node for node in self.nodes if self.device == "cpu" or node.num_gpus), self.nodes[0]
        )

    def call_on_engine_node(self, function: Callable[[], T]) -> T:
        """Call a function where engines will run, which may have other packages than this host."""
        if self.engine_node == self.nodes[0]:
            return function()
        affinity = NodeAffinitySchedulingStrategy(self.engine_node.id, soft=False)
        task = ray.remote(function).options(num_cpus=0, scheduling_strategy=affinity)
        result: T = ray.get(task.remote(), timeout=_RESERVATION_PATIENCE_S)
        return result


@contextmanager
def start_cluster(device: Literal["auto", "cpu", "cuda"]) -> Iterator[Cluster]:
    """Join the cluster at RAY_ADDRESS, or start a local one that ends with the block.

    Actors import this very mgpo, and the driver's import path with it (users' reward plugins).
    Raises UserError if the cluster does not answer, or `cuda` is asked for and it has no GPU.
    """
    is_ours = not ray.is_initialized()
    if is_ours:
        path = os.pathsep.join([str(_SOURCE_ROOT), *(entry for entry in sys.path if entry)])
        address = cluster_address()
        try:
            ray.init(
                address or "local",
                runtime_env={"env_vars": {"PYTHONPATH": path}},
                include_dashboard=None if address else False,
                # An actor's own output stays in Ray's log folder: progress bars and engines fill
                # the log.
                log_to_driver=False,
            )
        except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
            ray.shutdown()
            what = (
                f"joining the Ray cluster at RAY_ADDRESS={address} failed"
                if address
                else "a local Ray did not start; on a busy machine, try again"
            )
            raise UserError(f"{what}: {error}") from error
    try:
        nodes = _living_nodes()
        num_gpus = sum(node.num_gpus for node in nodes)
        if device == "cuda" and num_gpus == 0:
            raise ConfigError(
                "run.device is cuda, but the Ray cluster has no GPU; use run.device=auto or cpu"
            )
        chosen: Device = "cuda" if num_gpus and device != "cpu" else "cpu"
        logger.info("Ray %s, device %s, %d GPUs", ray.__version__, chosen, num_gpus)
        logger.info("driver: %s", code_version())
        yield Cluster(
            device=chosen,
            nodes=nodes,
            num_cores=len(os.sched_getaffinity(0)),
        )
    finally:
        if is_ours:
            ray.shutdown()


@dataclass(frozen=True, kw_only=True, slots=True)
class Placement:
    """Devices and threads of learner ranks and rollout engines.

    On a CPU they take turns, so both get all cores. On GPUs each gets its own while there are
    enough; else rank i and engine i share one. A stage that only samples has no ranks, one that
    only scores no engines.
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
    reserved: PlacementGroup | None = None
    """The GPUs, which are held until `release` or the driver's end."""

    def release(self) -> None:
        """Let the next placement have the GPUs; actors that are still on them end."""
        if self.reserved is not None:
            remove_placement_group(self.reserved)

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
        if cluster.device == "cpu":
            options = _cpu_options(cluster.nodes[0])
            return cls(
                device="cpu",
                learner_options=(options,) * num_ranks,
                rollout_options=(options,) * num_engines,
                is_shared=False,
                learner_threads=max(1, cluster.num_cores // max(1, num_ranks)),
                rollout_threads=max(1, cluster.num_cores // max(1, num_engines)),
            )
        nodes = [node for node in cluster.nodes[: 1 if one_host else None] if node.num_gpus]
        num_gpus = sum(node.num_gpus for node in nodes)
        is_shared = _must_share(num_gpus, num_ranks, num_engines, gpus_per_engine, one_host)
        bundles = [1] * num_ranks + ([] if is_shared else [gpus_per_engine] * num_engines)
        group = _reserve(bundles, nodes[0].address if one_host else None)
        every = tuple(
            _gpu_options(group, bundle, 0.5 if is_shared else num_gpus)
            for bundle, num_gpus in enumerate(bundles)
        )
        cores_per_gpu = min(node.num_cpus // node.num_gpus for node in nodes)
        return cls(
            device="cuda",
            learner_options=every[:num_ranks],
            rollout_options=every if is_shared else every[num_ranks:],
            is_shared=is_shared,
            learner_threads=max(1, cores_per_gpu),
            rollout_threads=max(1, cores_per_gpu * gpus_per_engine),
            reserved=group,
        )


def _living_nodes() -> tuple[Node, ...]:
    """All hosts, the one this process runs on first."""
    own = ray.get_runtime_context().get_node_id()
    nodes = [
        Node(
            id=record["NodeID"],
            address=record["NodeManagerAddress"],
            num_gpus=int(record["Resources"].get("GPU", 0)),
            num_cpus=int(record["Resources"].get("CPU", 0)),
        )
        for record in ray.nodes()
        if record["Alive"]
    ]
    return tuple(sorted(nodes, key=lambda node: node.id != own))


def _cpu_options(node: Node) -> ActorOptions:
    return {
        "num_cpus": 0,
        "num_gpus": 0.0,
        # Idle threads must sleep: the other kind of actor is computing.
        "runtime_env": {"env_vars": {"OMP_WAIT_POLICY": "PASSIVE"}},
        "scheduling_strategy": NodeAffinitySchedulingStrategy(node.id, soft=False),
    }


def _gpu_options(group: PlacementGroup, bundle: int, num_gpus: float) -> ActorOptions:
    return {
        "num_cpus": 0,
        "num_gpus": num_gpus,
        "scheduling_strategy": PlacementGroupSchedulingStrategy(
            group, placement_group_bundle_index=bundle
        ),
    }


def _must_share(
    num_gpus: int, num_ranks: int, num_engines: int, gpus_per_engine: int, one_host: bool
) -> bool:
    """Whether ranks and engines share GPUs; raises ConfigError if even that is too little."""
    needed = num_ranks + num_engines * gpus_per_engine
    if num_gpus >= needed:
        return False
    if num_ranks == num_engines <= num_gpus and gpus_per_engine == 1:
        return True
    where = (
        "the driver's host, which all must share with rollout.engine=hf,"
        if one_host
        else ("the cluster")
    )
    raise ConfigError(
        f"learner.num_ranks ({num_ranks}) + rollout.num_workers ({num_engines}) x "
        f"rollout.tensor_parallel_size ({gpus_per_engine}) need {needed} GPUs, {where} has "
        f"{num_gpus}; lower them, or make ranks and workers equal with a "
        "tensor_parallel_size of 1, so that each pair shares a GPU"
    )


def _reserve(gpus: list[int], address: str | None) -> PlacementGroup:
    """Reserve bundles of GPUs on one host, or on as few as possible."""
    # Ray gives each host a resource of its own, of which there is 1.
    pin = {f"node:{address}": 0.001} if address else {}
    group = placement_group([{"GPU": count, **pin} for count in gpus], strategy="PACK")
    try:
        ray.get(group.ready(), timeout=_RESERVATION_PATIENCE_S)
    except ray.exceptions.GetTimeoutError as error:
        raise ConfigError(
            f"waited {_RESERVATION_PATIENCE_S:.0f} s for {sum(gpus)} GPUs: other jobs hold them or "
            f"they lie too scattered (bundles of {sorted(set(gpus))}); free them or ask for fewer"
        ) from error
    return group
