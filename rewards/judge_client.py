"""Asks a judge model for JSON that follows a schema. Every way to fail is a JudgeFailure.

Talks to any OpenAI-compatible server (vLLM's among them) that enforces `response_format`.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from rewards.judge_settings import JudgeSettings
from rewards.types import Outcome, error

if TYPE_CHECKING:
    from openai import APIError

T = TypeVar("T")

_MAX_MESSAGE_CHARS = 500
_RETRY_HEADER = "x-stainless-retry-count"


class JudgeFailure(Exception):
    """No verdict exists; `reason` says why in one word, `detail` for people."""

    def __init__(self, reason: str, **detail: Any) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class BadAnswer(JudgeFailure):
    """The judge answered, but not what it was asked for; it is asked once more."""


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """What the judge is asked, and how its answer is read."""

    system: str
    user: str
    name: str
    """Of the schema."""
    schema: Mapping[str, Any]
    read: Callable[[Any], T]
    """From the decoded JSON to the verdict. Raises BadAnswer."""
    seed: int = 0


@dataclass(slots=True)
class Usage:
    """What a client has sent and been charged for."""

    num_requests: int = 0
    """Retries included; a request that missed its deadline counts once."""
    num_uncounted: int = 0
    """Answers that did not say how many tokens they took."""
    input_tokens: int = 0
    output_tokens: int = 0

    def count(self, body: Mapping[str, Any]) -> None:
        """Add an answer's tokens."""
        usage = body.get("usage")
        tokens = [
            usage.get(key) if isinstance(usage, Mapping) else None
            for key in ("prompt_tokens", "completion_tokens")
        ]
        if not all(isinstance(number, int) for number in tokens):
            self.num_uncounted += 1
            return
        self.input_tokens += tokens[0] or 0
        self.output_tokens += tokens[1] or 0

    def detail(self, settings: JudgeSettings) -> dict[str, Any]:
        """Return the counts as an outcome's detail shows them."""
        cost = (
            self.input_tokens * settings.input_price + self.output_tokens * settings.output_price
        ) / 1e6
        uncounted = {"uncounted_answers": self.num_uncounted} if self.num_uncounted else {}
        return {
            "model": settings.model,
            "requests": self.num_requests,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost": cost,
            **uncounted,
        }


class Judge:
    """A connection to the judge model, for one event loop: `async with Judge(settings) as judge`.

    Any number of questions may be asked at once; `max_concurrent_requests` are under way.
    """

    def __init__(self, settings: JudgeSettings) -> None:
        self.settings = settings
        self.usage = Usage()
        self._key = settings.api_key()
        self._slots = asyncio.Semaphore(settings.max_concurrent_requests)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        from openai import AsyncOpenAI

        self._client = await self._stack.enter_async_context(
            AsyncOpenAI(
                base_url=self.settings.endpoint,
                api_key=self._key,
                timeout=self.settings.timeout_s,
                max_retries=self.settings.max_retries,
            )
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    async def ask(self, pose: Callable[[int], Question[T]]) -> T:
        """Ask `pose(0)`, and `pose(1)` if the answer can't be used. Raises JudgeFailure.

        The second question should differ in its seed or wording: a judge without randomness
        answers the same question alike.
        """
        try:
            return await self._ask_once(pose(0))
        except BadAnswer:
            return await self._ask_once(pose(1))

    def failed(self, failure: JudgeFailure, **detail: Any) -> Outcome:
        """Return the outcome of a grading whose judge failed, with what it cost."""
        usage = self.usage.detail(self.settings)
        return error(failure.reason, **failure.detail, **detail, judge=usage)

    async def _ask_once(self, question: Question[T]) -> T:
        async with self._slots:
            body = await self._post(question)
        if not isinstance(body, Mapping):
            raise BadAnswer("judge_malformed", problem="the server's answer is not an object")
        self.usage.count(body)
        content = _content(body)
        try:
            # Not strict: vLLM lets line breaks and the like stand in strings as they are.
            answer = json.loads(content, object_pairs_hook=_without_twins, strict=False)
        except (ValueError, RecursionError) as problem:
            raise BadAnswer(
                "judge_malformed", problem=str(problem), answer=content[:_MAX_MESSAGE_CHARS]
            ) from problem
        return question.read(answer)

    async def _post(self, question: Question[T]) -> Any:
        """Return the decoded body of the server's answer."""
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        settings = self.settings
        self.usage.num_requests += 1
        try:
            async with asyncio.timeout(settings.timeout_s):
                answer = await self._client.chat.completions.with_raw_response.create(
                    **_body(settings, question)
                )
            self.usage.num_requests += answer.retries_taken
            return json.loads(answer.http_response.content)
        except (TimeoutError, APITimeoutError) as problem:
            raise JudgeFailure(
                "judge_timeout", waited_s=settings.timeout_s, endpoint=settings.endpoint
            ) from problem
        except APIStatusError as problem:
            self.usage.num_requests += _num_retries(problem)
            is_theirs = problem.status_code == 429 or problem.status_code >= 500
            raise JudgeFailure(
                "judge_unavailable" if is_theirs else "judge_refused",
                http_status=problem.status_code,
                problem=self._without_key(problem.message),
            ) from problem
        except APIConnectionError as problem:
            self.usage.num_requests += _num_retries(problem)
            cause = problem.__cause__ or problem
            raise JudgeFailure(
                "judge_unreachable",
                endpoint=settings.endpoint,
                problem=self._without_key(f"{type(cause).__name__}: {cause}"),
            ) from problem
        except (ValueError, RecursionError) as problem:
            raise BadAnswer(
                "judge_malformed", problem=f"the server's answer is not JSON: {problem}"
            ) from problem

    def _without_key(self, message: str) -> str:
        if self.settings.api_key_env:
            message = message.replace(self._key, f"${self.settings.api_key_env}")
        return message[:_MAX_MESSAGE_CHARS]


def _body(settings: JudgeSettings, question: Question[Any]) -> dict[str, Any]:
    sampling = {} if settings.temperature is None else {"temperature": settings.temperature}
    return {
        "model": settings.model,
        "messages": [
            {"role": "system", "content": question.system},
            {"role": "user", "content": question.user},
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": question.name, "strict": True, "schema": question.schema},
        },
        "max_completion_tokens": settings.max_completion_tokens,
        "seed": question.seed,
        **sampling,
    }


def _content(body: Mapping[str, Any]) -> str:
    """Return the text of a whole answer. Raises JudgeFailure."""
    try:
        choice = body["choices"][0]
        message = choice["message"]
        content, refusal = message.get("content"), message.get("refusal")
    except (KeyError, IndexError, TypeError, AttributeError) as problem:
        raise BadAnswer(
            "judge_malformed", problem="the server's answer has no message"
        ) from problem
    if refusal or choice.get("finish_reason") == "content_filter":
        raise JudgeFailure("judge_declined", problem=str(refusal or "")[:_MAX_MESSAGE_CHARS])
    if choice.get("finish_reason") == "length":
        raise BadAnswer("judge_malformed", problem="cut off at max_completion_tokens")
    if not isinstance(content, str) or not content.strip():
        raise BadAnswer("judge_malformed", problem="the answer is empty")
    return content


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object. Raises ValueError for a key that comes twice."""
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key comes twice")
    return result


def _num_retries(problem: "APIError") -> int:
    return int(problem.request.headers.get(_RETRY_HEADER, 0))
