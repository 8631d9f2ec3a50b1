"""Settings of the judge, its limit on requests at once, and text made safe for it."""

import asyncio

import pytest
from fake_judge import FakeJudge, completion, slow
from hypothesis import given, settings
from hypothesis import strategies as st

from rewards.judge_client import Judge, Question
from rewards.judge_settings import JudgeSettings, read_judge_settings
from rewards.judged_text import is_quoted_from, judged_text

LEAST = {"endpoint": "http://localhost:1/v1", "model": "m"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "endpoint: http://x/v1\nmodel: m\nmodle: n",
            "unknown setting 'modle'.*did you mean model",
        ),
        ("model: m", "endpoint must be set"),
        ("- a", "must be a mapping of settings, got list"),
        ("", "must be a mapping of settings, got NoneType"),
        ("endpoint: localhost:8000\nmodel: m", "endpoint must start with http"),
        (
            "endpoint: http://x\nmodel: m\ntimeout_s: fast",
            "timeout_s must be of type float, got 'fast'",
        ),
        ("endpoint: http://x\nmodel: m\nvotes: 2", "votes must be odd"),
        ("endpoint: http://x\nmodel: m\nvotes: true", "votes must be of type int, got True"),
        (
            "endpoint: http://x\nmodel: m\ntimeout_s: .nan",
            "timeout_s must be at least 0.1, got nan",
        ),
        ("endpoint: http://x\nmodel: m\ninput_price: -1", "input_price must be at least 0, got -1"),
        ("endpoint: [", "while parsing"),
    ],
)
def test_a_settings_file_with_a_mistake_is_refused_by_file_and_key(tmp_path, text, message):
    path = tmp_path / "judge.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"(?s)judge settings {path} .*{message}"):
        read_judge_settings(str(path))


def test_a_settings_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"judge settings /nowhere/judge\.yaml"):
        read_judge_settings("/nowhere/judge.yaml")


def test_whole_numbers_and_null_are_accepted_where_they_mean_something():
    least = JudgeSettings(**LEAST, timeout_s=5, temperature=None)
    assert (least.timeout_s, least.temperature, least.api_key()) == (5, None, "none")


def test_a_key_that_is_not_set_is_named():
    with pytest.raises(ValueError, match="NO_SUCH_KEY, which is not set"):
        JudgeSettings(**LEAST, api_key_env="NO_SUCH_KEY").api_key()


def test_no_more_requests_are_under_way_than_allowed():
    question = Question("s", "[m r begins]\nx\n[m r ends]", "n", {}, lambda answer: answer)

    async def ask(endpoint):
        limited = JudgeSettings(endpoint=endpoint, model="m", max_concurrent_requests=3)
        async with Judge(limited) as judge:
            await asyncio.gather(*(judge.ask(lambda attempt: question) for _ in range(12)))
            return judge.usage.num_requests

    with FakeJudge(slow) as server:
        assert asyncio.run(ask(server.endpoint)) == 12
        assert server.most_at_once == 3


def test_what_a_question_reads_is_what_ask_returns():
    question = Question("s", "u", "n", {}, lambda answer: answer["a"] + 1)

    async def ask(endpoint):
        async with Judge(JudgeSettings(endpoint=endpoint, model="m")) as judge:
            return await judge.ask(lambda attempt: question)

    with FakeJudge(lambda body, number: completion({"a": 1})) as server:
        assert asyncio.run(ask(server.endpoint)) == 2


@settings(deadline=None)
@given(st.text(max_size=200), st.integers(10, 100))
def test_a_judged_text_is_bounded_fenced_and_repeats_itself(text, max_chars):
    judged = judged_text(text, max_chars=max_chars, seed="0")
    assert judged == judged_text(text, max_chars=max_chars, seed="0")
    assert judged.marker != judged_text(text, max_chars=max_chars, seed="1").marker
    assert judged.marker not in text
    assert judged.num_cut_chars == max(0, len(text) - max_chars)
    assert "<|" not in judged.shown


@settings(deadline=None)
@given(st.text(alphabet="ab \\$\n", min_size=1, max_size=40), st.integers(0, 40), st.integers(1, 9))
def test_a_piece_of_a_text_is_a_quote_from_it(text, start, length):
    piece = text[start : start + length]
    assert is_quoted_from(piece, text) == bool(piece.strip())


@pytest.mark.parametrize(
    ("quote", "expected"),
    [
        ("the ANSWER is 12", True),
        ("the answer ... \\frac{1}{2}", True),
        ("**answer**  is $12$", True),
        ("the answer is 13", False),
        ("frac12 ... the answer", False),
        ("...", False),
        ("", False),
        ("=", True),
    ],
)
def test_quotes_may_differ_in_spaces_punctuation_and_case_only(quote, expected):
    assert is_quoted_from(quote, "So the answer is 12 =\n\\frac{1}{2}.") == expected
