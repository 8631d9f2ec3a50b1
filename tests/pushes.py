"""Weight pushes from a real learner into a real engine that misloads on demand."""

import os
from pathlib import Path
from typing import Any

import fakes
from engine_checks import CANARY, ROW, VOCAB_SIZE

from mgpo.config.algorithm import AlgorithmConfig
from mgpo.config.learner import LearnerConfig
from mgpo.config.rollout import RolloutConfig
from mgpo.config.weight_sync import WeightSyncConfig
from mgpo.learner.pool import LearnerPool
from mgpo.learner.setup import LearnerSetup
from mgpo.rollout.engine import EngineSetup
from mgpo.rollout.pool import RolloutPool
from mgpo.weight_sync.push import WeightSync
from mgpo.weight_sync.transport import SharedMemoryTransport


class Pushes:
    """A learner, an engine that does with new weights what a file says, and pushes between them.

    `engine_path` names the engine's class, whose fault is what the file at MGPO_TEST_FAULT says.
    """

    def __init__(self, folder: Path, engine_path: str, *, is_tied: bool = True):
        fakes.make_model(folder, seed=3, head_dim=32, is_tied=is_tied)
        self._fault = folder / "fault"
        self._fault.write_text("none")
        variables = {
            "PYTHONPATH": os.pathsep.join([".", "tests"]),
            "MGPO_TEST_FAULT": str(self._fault),
        }
        options: Any = {"num_cpus": 0, "runtime_env": {"env_vars": variables}}
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
        engine_setup = EngineSetup(
            model_path=str(folder),
            dtype="float32",
            device="cpu",
            config=rollout,
            vocab_size=VOCAB_SIZE,
            stop_token_ids=[258],
        )
        self.learner = LearnerPool(setup, total_updates=100, options=[options])
        self.pool = RolloutPool(
            rollout, engine_path, engine_setup, num_threads=1, options=[options]
        )
        self.learner.wait_until_loaded()
        self.pool.wait_until_loaded()
        config = WeightSyncConfig(bucket_mib=1)
        transport = SharedMemoryTransport(config, self.learner, folder, 60)
        self.sync = WeightSync(config, transport, self.learner, self.pool, [CANARY], "float32")
        self._version = 0

    def push_update(self, fault: str = "none") -> dict[str, float]:
        """Change every weight a little and push, with a planted fault."""
        metrics = self.learner.update([[ROW]], objective="policy", first_update=0)
        assert metrics["learner/skipped_updates"] == 0
        self._version += 1
        self._fault.write_text(fault)
        try:
            return self.sync.push(self._version)
        finally:
            self._fault.write_text("none")

    def close(self) -> None:
        self.sync.close()
        self.pool.close()
        self.learner.close()
