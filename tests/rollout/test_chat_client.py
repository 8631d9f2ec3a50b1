"""The client of chat servers, against real HTTP on a local port."""

import asyncio
import json
import time
from typing import Any

import pytest
from fake_judge import FakeJudge, Reply, completion, refusal

from mgpo.config.errors import ConfigError
from mgpo.config.sampling import SamplingConfig
from mgpo.config.server import ServerConfig
from mgpo.rollout.chat_client import ChatAnswer, ChatClient, ChatFailure

MESSAGES = [{"role": "user", "content": "1 + 1?"}]
SAMPLING = SamplingConfig(temperature=0.7, top_p=0.95, max_completion_tokens=64)


def ask(server: FakeJudge, count: int = 1, **settings: Any) -> list[ChatAnswer]:
    config = ServerConfig(
        **{"endpoint": server.endpoint, "model": "m", "max_retries": 0} | settings
    )

    async def run() -> list[ChatAnswer]:
        async with ChatClient(config) as client:
            asked = (client.complete(MESSAGES, SAMPLING, seed) for seed in range(count))
            return list(await asyncio.gather(*asked))

    return asyncio.run(run())


def with_logprobs(body: dict[str, Any], number: int) -> Reply:
    answer = json.loads(completion("2", "length")[1])
    answer["choices"][0]["logprobs"] = {
        "content": [
            {"token": word, "logprob": value, "bytes": None, "top_logprobs": []}
            for word, value in (("2", -0.5), ("!", -1.5))
        ]
    }
    return 200, json.dumps(answer).encode()


def test_an_answer_comes_with_its_counts_and_the_request_sets_every_sampling_field() -> None:
    with FakeJudge(with_logprobs) as server:
        [answer] = ask(server)
        assert answer == ChatAnswer(
            text="2", num_tokens=10, finish_reason="length", mean_logprob=-1.0, prompt_tokens=100
        )
        assert server.bodies == [
            {
                "model": "m",
                "messages": MESSAGES,
                "n": 1,
                "seed": 0,
                "temperature": 0.7,
                "top_p": 0.95,
                "max_completion_tokens": 64,
                "logprobs": True,
                "top_k": -1,
                "min_p": 0.0,
            }
        ]


def test_extensions_and_logprobs_can_be_left_out() -> None:
    with FakeJudge(lambda body, number: completion("2")) as server:
        [answer] = ask(server, has_extensions=False, wants_logprobs=False)
        assert answer.mean_logprob is None
        assert server.bodies[0].keys().isdisjoint({"top_k", "min_p", "logprobs"})


def test_a_busy_server_is_asked_again_and_a_refusal_is_a_failure() -> None:
    with FakeJudge(
        lambda body, number: completion("2") if number else refusal(503, "busy")
    ) as server:
        assert ask(server, max_retries=1)[0].text == "2"
    with (
        FakeJudge(lambda body, number: refusal(400, "no such model")) as server,
        pytest.raises(ChatFailure, match=r"HTTP 400: .*no such model"),
    ):
        ask(server, max_retries=3)
    assert len(server.bodies) == 1


def test_concurrency_and_pace_are_kept() -> None:
    def slow(body: dict[str, Any], number: int) -> Reply:
        time.sleep(0.05)
        return completion("2")

    with FakeJudge(slow) as server:
        ask(server, 6, max_concurrent_requests=2)
        assert server.most_at_once == 2
        started = time.monotonic()
        ask(server, 3, requests_per_minute=600)
        assert time.monotonic() - started >= 0.2


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (None, "no answer within 1 s"),
        ((200, b"<html>"), "no message|not JSON"),
        ((200, b'{"choices": []}'), "no message"),
        (completion("x", "content_filter"), "ended by 'content_filter'"),
        (completion(None, refusal="I will not"), "declined: I will not"),
        ((200, b'{"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}'), "usage"),
    ],
)
def test_an_answer_that_is_none_is_a_failure(reply: Reply | None, said: str) -> None:
    with (
        FakeJudge(lambda body, number: reply) as server,
        pytest.raises(ChatFailure, match=said),
    ):
        ask(server, timeout_s=30.0 if reply else 0.6)


def test_the_key_comes_from_the_environment_and_is_never_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with FakeJudge(lambda body, number: refusal(401, "bad key sk-secret")) as server:
        with pytest.raises(ConfigError, match="NO_SUCH_KEY, which is not set"):
            ask(server, api_key_env="NO_SUCH_KEY")
        monkeypatch.setenv("SOME_KEY", "sk-secret")
        with pytest.raises(ChatFailure, match=r"bad key \$SOME_KEY"):
            ask(server, api_key_env="SOME_KEY")
        assert server.headers[0]["authorization"] == "Bearer sk-secret"


def test_top_k_needs_a_server_that_takes_it() -> None:
    async def run() -> None:
        config = ServerConfig(endpoint="http://localhost:1/v1", model="m", has_extensions=False)
        async with ChatClient(config) as client:
            await client.complete(MESSAGES, SamplingConfig(top_k=5), 0)

    with pytest.raises(ConfigError, match=r"top_k=5 needs server\.has_extensions"):
        asyncio.run(run())
