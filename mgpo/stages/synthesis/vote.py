"""Labels by vote: equal answers are clustered by the `math` reward, in processes that can be
killed."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from mgpo.algorithm.answer_vote import Majority, find_majority
from mgpo.config.errors import UserError
from mgpo.stages.synthesis.queries import VOTED_REWARD
from rewards.config import RewardConfig
from rewards.offline import score_stream
from rewards.self_test import SelfTestFailed
from rewards.types import Outcome, ScoreRequest

_ANY_REFERENCE = "0"
_MAX_ANSWER_CHARS = 499
"""The reward shows 500 characters of an answer; a longer one is not known whole."""


def vote(traces: Sequence[Sequence[str]], config: RewardConfig) -> list[Majority | None]:
    """Return the majority of each query's traces; None where no trace has an answer.

    Answers are those that the `math` reward finds. Two are equal if they are spelled alike, or if
    the reward says so of the later trace with the earlier's answer as its reference. Raises
    UserError.
    """
    answers = _answers(traces, config)
    equal = _equal_pairs(traces, answers, config)
    return [
        find_majority(each, lambda one, other, of=pairs: (one, other) in of)  # type: ignore[misc]
        for each, pairs in zip(answers, equal, strict=True)
    ]


def _answers(traces: Sequence[Sequence[str]], config: RewardConfig) -> list[list[str | None]]:
    requests = [_request(text, _ANY_REFERENCE) for query in traces for text in query]
    found = iter([_extracted(outcome) for outcome in _graded(requests, config)])
    return [[next(found) for _ in query] for query in traces]


def _extracted(outcome: Outcome) -> str | None:
    answer = outcome.detail.get("extracted") if outcome.is_valid else None
    if not isinstance(answer, str) or not answer.strip() or len(answer) > _MAX_ANSWER_CHARS:
        return None
    return answer


def _equal_pairs(
    traces: Sequence[Sequence[str]], answers: Sequence[Sequence[str | None]], config: RewardConfig
) -> list[set[tuple[str, str]]]:
    """Return, by query, the pairs of spellings that are equal, the more frequent one first."""
    equal: list[set[tuple[str, str]]] = [set() for _ in traces]
    pairs: list[tuple[int, str, str]] = []
    requests = []
    for query, spelled in enumerate(answers):
        counts = Counter(answer for answer in spelled if answer is not None)
        ordered = [answer for answer, _ in counts.most_common()]
        for one, other in combinations(ordered, 2):
            pairs.append((query, one, other))
            requests.append(_request(traces[query][spelled.index(other)], one))
    for (query, one, other), outcome in zip(pairs, _graded(requests, config), strict=True):
        if outcome.is_valid and outcome.correct:
            equal[query].add((one, other))
    return equal


def _request(response: str, reference: str) -> ScoreRequest:
    return ScoreRequest(reward=VOTED_REWARD, response=response, reference=reference)


def _graded(requests: Sequence[ScoreRequest], config: RewardConfig) -> Iterator[Outcome]:
    if not requests:
        return
    try:
        yield from score_stream(requests, [VOTED_REWARD], config)
    except SelfTestFailed as error:
        raise UserError(str(error)) from error
