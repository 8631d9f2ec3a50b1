"""Which samples can be learnt from, and why the others cannot."""

import fakes
import pytest

from mgpo.config.errors import ConfigError, DataError, UserError
from mgpo.data.chat import ChatEncoder
from mgpo.data.rows import Row
from mgpo.stages.distill import _check_fields
from mgpo.stages.student import _check_budget
from mgpo.stages.traces import cut_chunks, verify_traces
from mgpo.tracking.sample_store import StoredSample
from rewards.types import Outcome

RIGHT = Outcome(status="ok", correct=True, value=1.0)
WRONG = Outcome(status="ok", correct=False, value=0.0, reason="mismatch")
ERROR = Outcome(status="error", correct=False, value=0.0, reason="timeout")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    fakes.make_tokenizer(folder)
    fakes.Qwen2Config().save_pretrained(folder)
    return ChatEncoder(str(folder))


def make_row(**fields):
    return Row(
        id="math/r",
        messages=({"role": "user", "content": "1+1?"},),
        domain="math",
        reward="math",
        reference=fields.pop("reference", "2"),
        fields=fields,
        where="rows.jsonl, line 1",
    )


def make_samples(*specs):
    return [
        StoredSample(
            prompt_id="math/r",
            sample_index=index,
            text=text,
            num_tokens=3,
            finish_reason=finish,
            mean_logprob=-1.0,
            outcome=outcome,
        )
        for index, (text, outcome, finish) in enumerate(specs)
    ]


def test_each_sample_is_a_trace_or_has_a_reason(encoder):
    samples = make_samples(
        ("two", RIGHT, "stop"),
        ("two", RIGHT, "stop"),
        ("three", WRONG, "stop"),
        ("2", RIGHT, "length"),
        ("2", ERROR, "stop"),
        (" \n", RIGHT, "stop"),
        (f"2{fakes.END}", RIGHT, "stop"),
        ("2" * 500, RIGHT, "stop"),
        ("2", RIGHT, "stop"),
    )
    traces, lost = verify_traces("math", [make_row()], [samples], encoder, 512)
    assert [trace.key[1] for trace in traces] == [0, 8]
    assert traces[0].num_tokens == 4  # a token per byte, and the end of the turn
    assert [(each.sample.sample_index, each.reason) for each in lost] == [
        (1, "duplicate"),
        (2, "wrong"),
        (3, "truncated"),
        (4, "no verdict"),
        (5, "blank"),
        (6, "not encodable"),
        (7, "too long"),
    ]
    assert lost[0].detail == "of sample 0"
    assert fakes.END in lost[5].detail


def test_a_domain_without_a_correct_trace_is_refused(encoder):
    samples = make_samples(("3", WRONG, "stop"), ("2", RIGHT, "length"))
    with pytest.raises(UserError, match=r"domain math: none of its 2 traces .*1 wrong, 1 truncat"):
        verify_traces("math", [make_row()], [samples], encoder, 512)


def test_chunks_are_consecutive_and_within_their_size(encoder):
    samples = make_samples(*((str(n) * (n + 1), RIGHT, "stop") for n in range(9)))
    traces, _ = verify_traces("math", [make_row()], [samples], encoder, 512)
    size = 3 * traces[0].num_all_tokens
    chunks = [list(chunk) for chunk in cut_chunks(traces, size)]
    assert [trace for chunk in chunks for trace in chunk] == traces
    assert all(sum(t.num_all_tokens for t in chunk) <= size for chunk in chunks)
    assert len(chunks) < len(traces)
    assert [len(chunk) for chunk in cut_chunks(traces, 1)] == [1] * 9
    assert list(cut_chunks([], 1)) == []


def test_a_trace_beyond_the_token_budget_is_named(encoder):
    samples = make_samples(("2", RIGHT, "stop"), ("22", RIGHT, "stop"))
    traces, _ = verify_traces("math", [make_row()], [samples], encoder, 512)
    longest = traces[1].num_all_tokens
    _check_budget(traces, longest)
    with pytest.raises(ConfigError, match=f"too small: sample 1 of math/r has {longest} tokens"):
        _check_budget(traces, longest - 1)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (make_row(score=1), "line 1, field score: is written by distill; rename it"),
        (make_row(reference={1, 2}), "line 1: cannot be written as JSON"),
    ],
)
def test_rows_that_could_not_be_written_are_refused(row, message):
    with pytest.raises(DataError, match=message):
        _check_fields([row])
