"""How weights travel: through shared memory of one host, or between GPUs by vLLM's own transfer."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import ray
import xxhash

from mgpo.config.weight_sync import WeightSyncConfig
from mgpo.weight_sync.types import LoadReport, NativeTransfer, WeightManifest


class SentWeights(Protocol):
    """The weights of one policy version, which engines can be given now and until the next."""

    policy_version: int

    @property
    def digests(self) -> dict[str, str]:
        """Digest of each tensor, as the learner computed it; known after the first delivery."""

    @property
    def num_bytes(self) -> int:
        """Size of all tensors; known after the first delivery."""

    def deliver(self, engines: Sequence[Any]) -> list[LoadReport | None]:
        """Give them to engine actors; None for one that is dead."""


class WeightSource(Protocol):
    """The learner, as a transport sees it."""

    def export_weights(
        self, directory: Path, policy_version: int, bucket_bytes: int
    ) -> WeightManifest:
        """Write all weights into a directory."""

    def send_weights(self, transfer: NativeTransfer) -> tuple[dict[str, str], int]:
        """Send all weights to engines on GPUs; return the digest of each, and their bytes."""


class Transport(Protocol):
    """One way for weights to travel."""

    def publish(self, policy_version: int) -> SentWeights:
        """Make the learner's weights ready for engines."""

    def settle(self) -> None:
        """The published weights have arrived: forget those before them."""

    def close(self) -> None:
        """Free what is left."""


class SharedMemoryTransport:
    """Files in shared memory: written once by the learner, mapped by every engine of the host."""

    def __init__(
        self, config: WeightSyncConfig, source: WeightSource, run_path: Path, timeout_s: float
    ) -> None:
        self._bucket_bytes = config.bucket_mib * 2**20
        self._source = source
        self._timeout_s = timeout_s
        shared = Path("/dev/shm")
        memory = shared if shared.is_dir() else Path(tempfile.gettempdir())
        # One place per run, whose lock we hold: what a killed process left there goes now.
        self._root = memory / f"mgpo-{xxhash.xxh3_64_hexdigest(bytes(run_path.resolve()))}"
        shutil.rmtree(self._root, ignore_errors=True)
        self._root.mkdir(mode=0o700)

    def publish(self, policy_version: int) -> SentWeights:
        """Write the weights into a folder of their own."""
        folder = Path(tempfile.mkdtemp(prefix=f"version_{policy_version}_", dir=self._root))
        manifest = self._source.export_weights(folder, policy_version, self._bucket_bytes)
        self._newest = folder
        return PublishedFiles(manifest, self._timeout_s)

    def settle(self) -> None:
        """Remove older folders; the newest stays, for an engine that is replaced."""
        for folder in self._root.iterdir():
            if folder != self._newest:
                shutil.rmtree(folder)

    def close(self) -> None:
        """Remove the files."""
        shutil.rmtree(self._root, ignore_errors=True)


class PublishedFiles:
    """Weights that lie in shared memory."""

    def __init__(self, manifest: WeightManifest, timeout_s: float) -> None:
        self._manifest = manifest
        self._timeout_s = timeout_s
        self.policy_version = manifest.policy_version

    @property
    def digests(self) -> dict[str, str]:
        """Digest of each tensor, as the learner computed it."""
        return self._manifest.digests

    @property
    def num_bytes(self) -> int:
        """Size of all tensors."""
        return sum(
            tensor.num_bytes for bucket in self._manifest.buckets for tensor in bucket.tensors
        )

    def deliver(self, engines: Sequence[Any]) -> list[LoadReport | None]:
        """Let all engines map the files at once."""
        calls = [engine.load_weights.remote(self._manifest) for engine in engines]
        return [_answer(call, self._timeout_s) for call in calls]


class NativeTransport:
    """vLLM's weight transfer: nccl between devices, ipc where rank and engine share each one."""

    def __init__(
        self,
        config: WeightSyncConfig,
        source: WeightSource,
        backend: Literal["nccl", "ipc"],
        gpus_per_engine: int,
    ) -> None:
        self._config = config
        self._source = source
        self._backend = backend
        self._gpus_per_engine = gpus_per_engine

    def publish(self, policy_version: int) -> SentWeights:
        """Nothing travels before the engines are known."""
        return _Transfers(self, policy_version)

    def send(self, engines: Sequence[Any]) -> tuple[dict[str, str], int]:
        """Let the learner send its weights to these engines; return digests and bytes."""
        return self._source.send_weights(
            NativeTransfer(
                backend=self._backend,
                engines=tuple(engines),
                gpus_per_engine=self._gpus_per_engine,
                chunk_bytes=self._config.bucket_mib * 2**20,
                timeout_s=self._config.timeout_s,
            )
        )

    @property
    def timeout_s(self) -> float:
        """Longest wait for an engine's report."""
        return self._config.timeout_s

    def settle(self) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing is kept."""


class _Transfers:
    def __init__(self, transport: NativeTransport, policy_version: int) -> None:
        self._transport = transport
        self.policy_version = policy_version
        self.digests: dict[str, str] = {}
        self.num_bytes = 0

    def deliver(self, engines: Sequence[Any]) -> list[LoadReport | None]:
        """Send to those that live: a collective with a dead peer never ends."""
        timeout_s = self._transport.timeout_s
        pids = [engine.pid.remote() for engine in engines]
        living = [
            engine
            for engine, pid in zip(engines, pids, strict=True)
            if _answer(pid, timeout_s) is not None
        ]
        if living:
            self.digests, self.num_bytes = self._transport.send(living)
        calls = {engine: engine.confirm_weights.remote(self.policy_version) for engine in living}
        return [
            _answer(calls[engine], timeout_s) if engine in calls else None for engine in engines
        ]


def _answer(call: Any, timeout_s: float) -> Any | None:
    """What an engine says; None if it is dead."""
    try:
        return ray.get(call, timeout=timeout_s)
    except ray.exceptions.RayActorError:
        return None
    except ray.exceptions.GetTimeoutError as error:
        raise RuntimeError(
            f"weight push: waited {timeout_s:.0f} s for an engine to take weights"
        ) from error
