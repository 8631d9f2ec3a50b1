"""Asks any OpenAI-compatible server for chat completions; every way to fail is a ChatFailure."""

import asyncio
import math
import os
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from mgpo.config.errors import ConfigError
from mgpo.config.sampling import SamplingConfig
from mgpo.config.server import ServerConfig
from mgpo.types import FinishReason

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion
    from openai.types.chat.chat_completion import Choice

_MAX_MESSAGE_CHARS = 500
_FINISH_REASONS: Mapping[str, FinishReason] = {"stop": "stop", "length": "length"}


class ChatFailure(Exception):
    """There is no answer; the message says why, without the key."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatAnswer:
    """What a server said to one request."""

    text: str
    """The answer. Where the server cuts off the thinking (vLLM's --reasoning-parser), without
    it."""
    num_tokens: int
    """Sampled tokens, the thinking included."""
    finish_reason: FinishReason
    mean_logprob: float | None
    """Of the sampled tokens, as the server reports them; None: it does not."""
    prompt_tokens: int


class ChatClient:
    """A connection for one event loop: `async with ChatClient(config) as client`.

    Any number of answers may be asked for at once; `server.max_concurrent_requests` are under way,
    and no more than `server.requests_per_minute` begin in a minute.
    """

    def __init__(self, config: ServerConfig) -> None:
        """Raises ConfigError without an endpoint or with a key that is not set."""
        if not config.is_given:
            raise ConfigError("server.endpoint is empty: give the base URL of a server")
        self._config = config
        self._key = _api_key(config)
        self._slots = asyncio.Semaphore(config.max_concurrent_requests)
        self._pause_s = 60 / config.requests_per_minute if config.requests_per_minute else 0.0
        self._next_start = 0.0
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        from openai import AsyncOpenAI

        self._client = await self._stack.enter_async_context(
            AsyncOpenAI(
                base_url=self._config.endpoint,
                api_key=self._key,
                timeout=self._config.timeout_s,
                max_retries=self._config.max_retries,
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

    async def complete(
        self,
        messages: Sequence[Mapping[str, str]],
        sampling: SamplingConfig,
        seed: int,
        response_format: Mapping[str, Any] | None = None,
    ) -> ChatAnswer:
        """Return one answer; `response_format` may hold it to a JSON schema. Raises ChatFailure.

        The seed is sent as 63 bits. Of `sampling`, `samples_per_prompt` is the caller's business.
        """
        body = self._body(messages, sampling, seed)
        if response_format is not None:
            body["response_format"] = dict(response_format)
        async with self._slots:
            await self._wait_for_turn()
            return self._read(await self._post(body))

    async def _wait_for_turn(self) -> None:
        """Keep the pace: starts are `60 / requests_per_minute` seconds apart."""
        now = asyncio.get_running_loop().time()
        start = max(now, self._next_start)
        self._next_start = start + self._pause_s
        await asyncio.sleep(start - now)

    def _body(
        self, messages: Sequence[Mapping[str, str]], sampling: SamplingConfig, seed: int
    ) -> dict[str, Any]:
        config = self._config
        body: dict[str, Any] = {
            "model": config.model,
            "messages": [dict(message) for message in messages],
            "n": 1,
            "seed": seed % 2**63,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
        }
        if sampling.max_completion_tokens is not None:
            body["max_completion_tokens"] = sampling.max_completion_tokens
        if config.wants_logprobs:
            body["logprobs"] = True
        if config.has_extensions:
            body["extra_body"] = {"top_k": sampling.top_k, "min_p": 0.0}
        elif sampling.top_k != -1:
            raise ConfigError(
                f"sampling.top_k={sampling.top_k} needs server.has_extensions=true: "
                "the chat completions of OpenAI have no top_k"
            )
        return body

    async def _post(self, body: dict[str, Any]) -> "ChatCompletion | str":
        from openai import APIError, APIStatusError

        config = self._config
        try:
            async with asyncio.timeout(config.timeout_s):
                answer: ChatCompletion | str = await self._client.chat.completions.create(**body)
                return answer
        except TimeoutError as problem:
            raise ChatFailure(
                f"{config.endpoint}: no answer within {config.timeout_s:.0f} s (server.timeout_s)"
            ) from problem
        except APIStatusError as problem:
            raise self._failure(f"HTTP {problem.status_code}: {problem.message}") from problem
        except APIError as problem:
            cause = problem.__cause__ or problem
            raise self._failure(f"{type(cause).__name__}: {cause}") from problem
        except ValueError as problem:
            raise self._failure(f"the answer is not JSON: {problem}") from problem

    def _read(self, answer: "ChatCompletion | str") -> ChatAnswer:
        """Take what is needed. Raises ChatFailure for an answer that is none."""
        if isinstance(answer, str):  # the client's way with what does not call itself JSON
            raise self._failure(f"the answer is not JSON: {answer}")
        choices, usage = answer.choices, answer.usage
        if not choices or choices[0].message is None:
            raise self._failure("the answer has no message")
        choice = choices[0]
        finish_reason = _FINISH_REASONS.get(str(choice.finish_reason))
        if finish_reason is None:
            raise self._failure(f"the answer ended by {choice.finish_reason!r}, not by itself")
        if choice.message.refusal:
            raise self._failure(f"the server declined: {choice.message.refusal}")
        if usage is None or usage.completion_tokens is None or usage.prompt_tokens is None:
            raise self._failure("the answer does not say how many tokens it took (usage)")
        return ChatAnswer(
            text=choice.message.content or "",
            num_tokens=usage.completion_tokens,
            finish_reason=finish_reason,
            mean_logprob=_mean_logprob(choice),
            prompt_tokens=usage.prompt_tokens,
        )

    def _failure(self, problem: str) -> ChatFailure:
        if self._config.api_key_env:
            problem = problem.replace(self._key, f"${self._config.api_key_env}")
        return ChatFailure(f"{self._config.endpoint}: {problem[:_MAX_MESSAGE_CHARS]}")


def _api_key(config: ServerConfig) -> str:
    if not config.api_key_env:
        return "none"
    key = os.environ.get(config.api_key_env, "")
    if not key:
        raise ConfigError(
            f"server.api_key_env names the variable {config.api_key_env}, which is not set"
        )
    return key


def _mean_logprob(choice: "Choice") -> float | None:
    tokens = choice.logprobs.content if choice.logprobs is not None else None
    return math.fsum(token.logprob for token in tokens) / len(tokens) if tokens else None
