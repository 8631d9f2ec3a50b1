"""The rewards of a stage on their known items, in processes of their own, without Ray."""

from mgpo.config.errors import UserError
from mgpo.config.training import TrainingConfig
from mgpo.data.inputs import StageInputs
from rewards.offline import self_tests
from rewards.self_test import SelfTest

_LACKING = ("bad_reward", "weak_sandbox")
_JUDGE = "judge_"
"""Reasons of an outcome, the last a prefix, that name what this host lacks."""


def reward_table(config: TrainingConfig, inputs: StageInputs) -> str:
    """Grade each reward's known items and return a line per reward.

    A reward that this host cannot run (no sandbox, no judge) fails in the table only, since rewards
    may run on others. Raises UserError for one that gives another verdict than its items say.
    """
    results = self_tests(inputs.reward_names, config.reward)
    for result in results.values():
        if result.problem and not _is_lacking(result):
            raise UserError(result.problem)
    width = max(map(len, results))
    return "\n".join(f"{name:<{width}}  {_in_words(result)}" for name, result in results.items())


def _is_lacking(result: SelfTest) -> bool:
    assert result.got is not None
    reason = result.got.reason
    return not result.got.is_valid and (reason in _LACKING or reason.startswith(_JUDGE))


def _in_words(result: SelfTest) -> str:
    if not result.num_items:
        return "not tested: it brings no known items"
    if result.got is None:
        return f"pass ({result.num_items} items)"
    why = result.got.detail.get("problem", "")
    return f"fail on this host: {result.got.reason}" + (f": {why}" if why else "")
