"""`mgpo rl` in this process, with a SIGKILL planted at one moment of one step.

python driver_with_faults.py MOMENT STEP EXPERIMENT.yaml [key=value ...]
"""

import os
import signal
import sys
import threading
import time

from mgpo import __main__ as command_line
from mgpo.learner import checkpoint
from mgpo.rollout.pool import RolloutPool
from mgpo.stages import rl


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def plant(moment: str, step: int) -> None:
    """Replace one function by one that kills at its moment."""
    learn = rl._learn

    def learn_with_fault(config, parts, groups, state, log):
        if state.step + 1 == step:
            if moment == "mid_step":
                die()
            elif moment == "before_save":
                parts.checkpoints.save_if_due = lambda *_: die()
            elif moment == "during_save":
                checkpoint._flush = lambda _: die()
        return learn(config, parts, groups, state, log)

    rl._learn = learn_with_fault
    if moment == "rollout_actor":
        generate = RolloutPool.generate
        calls = iter(range(1, 10**6))

        def generate_with_fault(self, requests):
            if next(calls) == step:
                victim = self.worker_pids()[0]
                threading.Thread(target=kill_soon, args=(victim,)).start()
            return generate(self, requests)

        RolloutPool.generate = generate_with_fault


def kill_soon(pid: int) -> None:
    time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    plant(sys.argv[1], int(sys.argv[2]))
    sys.exit(command_line.main(["rl", *sys.argv[3:]]))
