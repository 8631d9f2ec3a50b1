"""`mgpo rl` in this process, with a signal planted at one moment of one step.

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
from mgpo.stages import evaluation, rl


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
    if moment == "evaluation":
        plant_in_evaluation(step)
    if moment == "rollout_actor":
        plant_in_rollouts(step)


def plant_in_evaluation(step: int) -> None:
    """Ask the process to stop while it evaluates."""
    measure = evaluation.evaluate

    def evaluate_with_signal(config, rollouts, rewards, prompts, at_step):
        if at_step == step:
            threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGTERM)).start()
        return measure(config, rollouts, rewards, prompts, at_step)

    evaluation.evaluate = evaluate_with_signal


def plant_in_rollouts(call: int) -> None:
    """Kill a rollout actor during one call of the pool."""
    generate = RolloutPool.generate
    calls = iter(range(1, 10**6))

    def generate_with_fault(self, requests):
        if next(calls) == call:
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
