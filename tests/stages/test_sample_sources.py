"""Samples from a chat server: real HTTP on a local port."""

from typing import Any

import pytest
from fake_judge import FakeJudge, Reply, completion, refusal

from mgpo.config.errors import UserError
from mgpo.config.sampling import SamplingConfig
from mgpo.config.server import ServerConfig
from mgpo.stages.sample_sources import ServerSource, Wanted
from mgpo.tracking.sample_store import StoredSample
from mgpo.types import Prompt


def wanted(count: int) -> list[Wanted]:
    prompts = [
        Prompt(
            id=f"p{number}",
            messages=({"role": "user", "content": f"say {number}"},),
            token_ids=(),
            domain="math",
            reward="math",
            reference="x",
        )
        for number in range(count)
    ]
    return [Wanted(prompt, 0) for prompt in prompts]


def sample(server: FakeJudge, count: int) -> dict[int, StoredSample]:
    config = ServerConfig(
        endpoint=server.endpoint, model="m", max_retries=0, max_concurrent_requests=3
    )
    return dict(ServerSource(config, seed=1).generate(wanted(count), SamplingConfig()))


def echo(body: dict[str, Any], number: int) -> Reply:
    return completion(body["messages"][0]["content"])


def test_every_answer_comes_back_to_the_prompt_it_was_asked_for() -> None:
    with FakeJudge(echo) as server:
        samples = sample(server, 10)
        assert {index: each.text for index, each in samples.items()} == {
            index: f"say {index}" for index in range(10)
        }
        assert {each.outcome.reason for each in samples.values()} == {"ungraded"}
        assert len({body["seed"] for body in server.bodies}) == 10
        assert server.most_at_once <= 3


def test_a_seed_depends_on_prompt_and_sample_only() -> None:
    seeds = []
    for count in (2, 5):
        with FakeJudge(echo) as server:
            sample(server, count)
            seeds.append({b["messages"][0]["content"]: b["seed"] for b in server.bodies})
    assert seeds[0].items() <= seeds[1].items()


def test_a_request_that_fails_leaves_the_others() -> None:
    def reply(body: dict[str, Any], number: int) -> Reply:
        return refusal(400, "no") if "say 4" in body["messages"][0]["content"] else echo(body, 0)

    with FakeJudge(reply) as server:
        assert sorted(sample(server, 6)) == [0, 1, 2, 3, 5]


def test_a_server_that_only_fails_is_given_up() -> None:
    with FakeJudge(lambda body, number: refusal(400, "no such model")) as server:
        with pytest.raises(UserError, match=r"8 requests in a row failed, the last with .*no such"):
            sample(server, 50)
        assert len(server.bodies) < 15
