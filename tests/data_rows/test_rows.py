"""Rows of every source and layout; mistakes named by file, line and field."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from mgpo.config.data import DataConfig
from mgpo.config.errors import DataError
from mgpo.data.prior_accuracy import check_prior_accuracy
from mgpo.data.rows import Row, load_rows, load_sft_rows
from mgpo.data.sources import read_records

SUM = {"prompt": "2+2?", "reference": "4"}


@pytest.fixture
def jsonl(tmp_path: Path) -> Path:
    return tmp_path / "rows.jsonl"


def _write(path: Path, *rows: Any) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def _load(path: Path, *rows: Any, **config: Any) -> list[Row]:
    source = _write(path, *rows)
    return load_rows(source, DataConfig(train=source, **config))


def _problem(path: Path, *rows: Any, **config: Any) -> str:
    with pytest.raises(DataError) as caught:
        _load(path, *rows, **config)
    return str(caught.value)


def test_defaults_of_a_bare_row(jsonl: Path) -> None:
    (row,) = _load(jsonl, SUM)
    assert row == Row(
        id="rows-1",
        messages=({"role": "user", "content": "2+2?"},),
        domain="math",
        reward="math",
        reference="4",
        fields={},
        where=f"{jsonl}, line 1",
    )


@pytest.mark.parametrize(
    ("domain", "reward"),
    [("math", "math"), ("stem", "stem"), ("code", "code"), ("instruct", "constraints")],
)
def test_reward_follows_from_the_domain(jsonl: Path, domain: str, reward: str) -> None:
    assert _load(jsonl, SUM | {"domain": domain})[0].reward == reward
    assert _load(jsonl, SUM, domain=domain)[0].reward == reward


def test_a_row_may_name_its_reward(jsonl: Path) -> None:
    (row,) = _load(jsonl, SUM | {"domain": "chess", "reward": "mypkg.chess.grade", "id": 7})
    assert (row.domain, row.reward, row.id) == ("chess", "mypkg.chess.grade", "7")


def test_further_fields_are_kept_as_they_are(jsonl: Path) -> None:
    (row,) = _load(jsonl, SUM | {"difficulty": 3, "tags": [{"a": None}], "response": "4"})
    assert row.fields == {"difficulty": 3, "tags": [{"a": None}]}


def test_chat_messages_keep_their_roles_and_the_last_takes_the_suffix(jsonl: Path) -> None:
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?"}]
    (row,) = _load(jsonl, SUM | {"prompt": chat}, prompt_suffix=" Box it.")
    assert row.messages == (chat[0], {"role": "user", "content": "2+2? Box it."})


def test_verl_layout(jsonl: Path) -> None:
    verl = {
        "data_source": "gsm8k",
        "prompt": [{"role": "user", "content": "2+2?"}],
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": "4"},
        "extra_info": {"index": 0},
    }
    columns = {"reference": "reward_model.ground_truth", "domain": "ability"}
    (row,) = _load(jsonl, verl, columns=columns)
    assert (row.reference, row.domain, row.messages[0]["content"]) == ("4", "math", "2+2?")
    assert row.fields == {
        "data_source": "gsm8k",
        "reward_model": {"style": "rule", "ground_truth": "4"},
        "extra_info": {"index": 0},
    }


def test_trl_layout(jsonl: Path) -> None:
    (row,) = _load(
        jsonl, {"prompt": "2+2?", "solution": r"\boxed{4}"}, columns={"reference": "solution"}
    )
    assert row.reference == r"\boxed{4}"
    assert row.fields == {}


def test_a_mapped_column_beats_one_of_our_name(jsonl: Path) -> None:
    (row,) = _load(jsonl, SUM | {"solution": "5"}, columns={"reference": "solution"})
    assert row.reference == "5"
    assert row.fields == {}


def test_columns_may_rename_further_fields(jsonl: Path) -> None:
    (row,) = _load(jsonl, SUM | {"stats": {"rate": 0.5}}, columns={"accuracy": "stats.rate"})
    assert row.fields["accuracy"] == 0.5


def test_reference_after_the_last_marker(jsonl: Path) -> None:
    (row,) = _load(
        jsonl, {"prompt": "?", "reference": "#### 1\nso #### 72 "}, reference_after="####"
    )
    assert row.reference == "72"


def test_structured_references_pass_through(jsonl: Path) -> None:
    reference = {"kind": "stdin", "tests": [{"input": "1", "output": "2"}]}
    (row,) = _load(jsonl, {"prompt": "?", "domain": "code", "reference": reference})
    assert row.reference == reference


@pytest.mark.parametrize("reference", [0, False, 0.0])
def test_a_reference_may_be_falsy(jsonl: Path, reference: object) -> None:
    (row,) = _load(jsonl, {"prompt": "?", "reference": reference})
    assert row.reference is not None
    assert row.reference == reference


@pytest.mark.parametrize(
    ("row", "config", "fragment"),
    [
        ({"prompt": "?"}, {}, "field reference: missing"),
        ({"prompt": "?", "reference": " "}, {}, "field reference: missing"),
        ({"prompt": "?", "reference": []}, {}, "field reference: missing"),
        ({"prompt": "?", "reference": "72"}, {"reference_after": "####"}, "'####' does not occur"),
        ({"prompt": "?", "reference": "####"}, {"reference_after": "####"}, "field reference: mis"),
        ({"reference": "4"}, {}, "field prompt: missing"),
        ({"reference": "4", "prompt": " "}, {}, "field prompt: must be a string"),
        ({"reference": "4", "prompt": 5}, {}, "field prompt: must be a string"),
        ({"reference": "4", "prompt": []}, {}, "the last chat message must be the user's"),
        (SUM | {"prompt": [{"role": "assistant", "content": "4"}]}, {}, "must be the user's"),
        (SUM | {"prompt": [{"role": "user", "content": ["x"]}]}, {}, "a chat message has a role"),
        (SUM | {"prompt": ["x"]}, {}, "a chat message has a role"),
        (
            SUM | {"prompt": [{"role": "user", "content": "x", "tool_calls": [1]}]},
            {},
            "role and content only, got ['tool_calls']",
        ),
        (SUM | {"id": [1]}, {}, "field id: must be a string or a whole number"),
        (SUM | {"id": True}, {}, "field id: must be a string or a whole number"),
        (SUM | {"domain": "chess"}, {}, "field reward: missing, and domain 'chess' has no default"),
        (SUM | {"reward": 3}, {}, "field reward: must be a string"),
        (SUM, {"columns": {"reference": "solution"}}, "column solution, but the row has only"),
        (SUM, {"columns": {"reference": "reference.answer"}}, "column reference.answer"),
    ],
)
def test_a_bad_row_is_named(
    jsonl: Path, row: dict[str, Any], config: dict[str, Any], fragment: str
) -> None:
    message = _problem(jsonl, row, **config)
    assert message.startswith(f"{jsonl}, line 1, field ")
    assert fragment in message


def test_duplicate_ids_name_both_rows(jsonl: Path) -> None:
    message = _problem(jsonl, SUM | {"id": "a"}, SUM, SUM | {"id": "a"})
    assert message == f"{jsonl}, line 3, field id: 'a' is also the id of {jsonl}, line 1"


@pytest.mark.parametrize(
    ("line", "fragment"),
    [(b"{bad", "not valid JSON"), (b'"text"', "a row is a JSON object"), (b'"\xff"', "not valid")],
)
def test_an_unreadable_line_is_named(jsonl: Path, line: bytes, fragment: str) -> None:
    jsonl.write_bytes(json.dumps(SUM).encode() + b"\n\n" + line + b"\n")
    with pytest.raises(DataError, match=f"{re.escape(str(jsonl))}, line 3: {fragment}"):
        load_rows(str(jsonl), DataConfig(train=str(jsonl)))


def test_an_empty_file_is_refused(jsonl: Path) -> None:
    assert _problem(jsonl) == f"{jsonl}: has no rows"


@pytest.mark.parametrize("name", ["no.jsonl", "no.parquet"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=rf"{name}: no such data file"):
        list(read_records(str(tmp_path / name)))


@pytest.mark.parametrize("source", ["rows.json", "a/b/c", "/data/rows", "org/name@a@b", ""])
def test_a_source_of_no_known_kind_is_refused(source: str) -> None:
    with pytest.raises(
        DataError, match=r"data is a \.jsonl, \.jsonl\.gz or \.parquet file or a hub dataset"
    ):
        list(read_records(source))


def test_a_file_of_another_kind_is_no_hub_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    _write(Path("data/rows.json"), SUM)
    with pytest.raises(DataError, match=r"data/rows\.json: data is a \.jsonl"):
        list(read_records("data/rows.json"))


def test_parquet_rows_equal_jsonl_rows(tmp_path: Path) -> None:
    rows = [
        {"prompt": [{"role": "user", "content": f"{i}+1?"}], "gold": {"answer": str(i + 1)}}
        for i in range(2000)
    ]
    path = tmp_path / "sums.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    config = DataConfig(train="unused", columns={"reference": "gold.answer"})
    read = load_rows(str(path), config)
    same = load_rows(_write(tmp_path / "sums.jsonl", *rows), config)
    assert [(row.id, row.messages, row.reference, row.fields) for row in read] == [
        (row.id, row.messages, row.reference, row.fields) for row in same
    ]
    assert read[-1].where == f"{path}, row 2000"


def test_a_broken_parquet_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"PAR1 but not really")
    with pytest.raises(DataError, match=r"rows\.parquet: not a readable parquet file"):
        list(read_records(str(path)))


def test_hub_datasets_are_read_by_name_config_and_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of the same name stands in for the hub, as `datasets` allows."""
    folder = tmp_path / "org" / "sums"
    folder.mkdir(parents=True)
    _write(folder / "train.jsonl", {"question": "1+1?", "answer": "2"})
    _write(folder / "test.jsonl", {"question": "2+2?", "answer": "4"})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    config = DataConfig(train="unused", columns={"prompt": "question", "reference": "answer"})
    for source, reference in (
        ("org/sums", "2"),
        ("org/sums:test", "4"),
        ("org/sums@default:train", "2"),
    ):
        (row,) = load_rows(source, config)
        assert (row.id, row.reference, row.where) == ("sums-1", reference, f"{source}, row 1")
    with pytest.raises(DataError, match=r"hub dataset org/sums:nope: cannot be loaded"):
        load_rows("org/sums:nope", config)


def test_supervised_rows_need_a_response_but_no_reference(jsonl: Path) -> None:
    source = _write(jsonl, {"prompt": "2+2?", "response": "It is 4."})
    (row,) = load_sft_rows(source, DataConfig(train=source))
    assert (row.id, row.response) == ("rows-1", "It is 4.")
    source = _write(jsonl, SUM)
    with pytest.raises(DataError, match="line 1, field response: missing"):
        load_sft_rows(source, DataConfig(train=source))


TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "2+2?"},
    {"role": "assistant", "content": "4"},
    {"role": "user", "content": "Times 3?"},
]


def test_a_chat_that_ends_with_the_assistant_has_its_response_there(jsonl: Path) -> None:
    answer = {"role": "assistant", "content": "12"}
    source = _write(jsonl, {"messages": [*TALK, answer]}, {"messages": TALK, "response": "12"})
    config = DataConfig(train=source, columns={"prompt": "messages"}, prompt_suffix=" Box it.")
    for row in load_sft_rows(source, config):
        assert row.response == "12"
        assert row.messages == (*TALK[:3], {"role": "user", "content": "Times 3? Box it."})


@pytest.mark.parametrize(
    ("row", "fragment"),
    [
        ({"prompt": TALK}, "field response: missing"),
        ({"prompt": TALK[:3], "response": "12"}, "field prompt: ends with the assistant's message"),
        ({"prompt": [*TALK, {"role": "assistant", "content": " "}]}, "last message is blank"),
        ({"prompt": [*TALK, {"role": "assistant", "content": None}]}, "has a role and a content"),
        ({"prompt": TALK[2:3]}, "field prompt: the last chat message must be the user's"),
        (
            {"prompt": [*TALK[:3], {"role": "assistant", "content": "12"}]},
            "field prompt: the last chat message must be the user's",
        ),
    ],
)
def test_a_chat_without_one_response_is_named(
    jsonl: Path, row: dict[str, Any], fragment: str
) -> None:
    source = _write(jsonl, row)
    with pytest.raises(DataError) as caught:
        load_sft_rows(source, DataConfig(train=source))
    assert str(caught.value).startswith(f"{jsonl}, line 1, field ")
    assert fragment in str(caught.value)


def test_prior_accuracy_needs_three_fields(jsonl: Path) -> None:
    whole = SUM | {"accuracy": 0.25, "accuracy_n": 16, "accuracy_model": "base"}
    check_prior_accuracy(_load(jsonl, whole))
    for field, bad in (
        ("accuracy", None),
        ("accuracy", 1.5),
        ("accuracy", True),
        ("accuracy_n", 0),
        ("accuracy_n", 2.5),
        ("accuracy_model", ""),
    ):
        with pytest.raises(DataError, match=rf"line 2, field {field}: algorithm\.accuracy_source"):
            check_prior_accuracy(_load(jsonl, whole, whole | {field: bad}))
