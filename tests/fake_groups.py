"""Groups of given verdicts and lengths, for tests of what shapes a reward."""

from mgpo.types import Completion, Group, Prompt, Sample
from rewards.types import Outcome


def group(*samples: tuple[bool, int], is_graded: bool = False) -> Group:
    """A group of (verdict, length in tokens)."""
    prompt = Prompt(id="q", messages=(), token_ids=(1,), domain="", reward="", reference=None)
    return Group(
        prompt=prompt,
        samples=tuple(
            Sample(
                prompt=prompt,
                completion=Completion(
                    token_ids=(7,) * length,
                    rollout_logprobs=(-1.0,) * length,
                    finish_reason="stop",
                    policy_version=0,
                    text="",
                ),
                outcome=Outcome(
                    status="ok", correct=is_right, value=float(is_right), is_graded=is_graded
                ),
                reward=float(is_right),
            )
            for is_right, length in samples
        ),
    )


def rewards(shaped: Group) -> list[float]:
    """Return the number that each sample is trained on."""
    return [sample.reward for sample in shaped.samples]
