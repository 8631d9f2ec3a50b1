"""Rendering of prompts and responses, with a real tokenizer and templates that differ."""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes import CHAT_TEMPLATE, make_tokenizer

from mgpo.config.errors import ConfigError, DataError
from mgpo.data.chat import ChatEncoder
from mgpo.data.rows import Messages, Row, SftRow

ASK = ({"role": "user", "content": "2+2?"},)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_tokenizer(tmp_path)
    return tmp_path


@pytest.fixture
def encoder(folder: Path) -> ChatEncoder:
    return ChatEncoder(str(folder))


def _row(messages: Messages = ASK) -> Row:
    return Row(
        id="a",
        messages=messages,
        domain="math",
        reward="math",
        reference="4",
        fields={"difficulty": 1},
        where="rows.jsonl, line 3",
    )


def _worked(response: str) -> SftRow:
    return SftRow(id="a", messages=ASK, response=response, where="rows.jsonl, line 3")


def test_prompt_is_the_rendered_template_with_its_generation_prompt(encoder: ChatEncoder) -> None:
    prompt = encoder.encode_prompt(_row())
    assert encoder.decode_with_special_tokens(prompt.token_ids) == (
        "<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert (prompt.id, prompt.reference, prompt.fields) == ("a", "4", {"difficulty": 1})


def test_control_tokens_of_the_template_are_single_ids(folder: Path) -> None:
    tokenizer = make_tokenizer(folder)
    prompt = ChatEncoder(str(folder)).encode_prompt(_row())
    assert list(prompt.token_ids).count(tokenizer.convert_tokens_to_ids("<|im_start|>")) == 2
    assert list(prompt.token_ids).count(tokenizer.convert_tokens_to_ids("<|im_end|>")) == 1


def test_supervised_training_sees_the_prompt_that_sampling_sees(encoder: ChatEncoder) -> None:
    prompt = encoder.encode_prompt(_row())
    example = encoder.encode_sft(_worked("It is 4."))
    assert example.token_ids[: example.prompt_len] == prompt.token_ids


def test_response_ends_with_one_end_of_turn_and_nothing_after(encoder: ChatEncoder) -> None:
    example = encoder.encode_sft(_worked("It is 4.\n"))
    response = example.token_ids[example.prompt_len :]
    assert encoder.decode_with_special_tokens(response) == "It is 4.\n<|im_end|>"
    assert [token_id in encoder.stop_token_ids for token_id in response].count(True) == 1


def test_earlier_turns_are_context_and_only_the_response_is_learnt(encoder: ChatEncoder) -> None:
    talk = (
        *ASK,
        {"role": "assistant", "content": "4"},
        {"role": "user", "content": "Times 3?"},
    )
    row = SftRow(id="a", messages=talk, response="12", where="rows.jsonl, line 3")
    example = encoder.encode_sft(row)
    learnt = encoder.decode_with_special_tokens(example.token_ids[example.prompt_len :])
    context = encoder.decode_with_special_tokens(example.token_ids[: example.prompt_len])
    assert learnt == "12<|im_end|>"
    assert "<|im_start|>assistant\n4<|im_end|>\n<|im_start|>user\nTimes 3?" in context


def test_response_that_ends_its_own_turn_is_refused(encoder: ChatEncoder) -> None:
    with pytest.raises(DataError, match=r"line 3, field response: contains <\|im_end\|>"):
        encoder.encode_sft(_worked("It is 4.<|im_end|>"))


def test_vocabulary_is_the_tokenizers_not_the_padded_one(encoder: ChatEncoder) -> None:
    assert encoder.vocab_size == 256 + 3


def test_end_of_turn_comes_from_the_template_where_eos_is_another(folder: Path) -> None:
    """Qwen2.5 base models: eos is <|endoftext|>, turns end with <|im_end|>."""
    tokenizer = make_tokenizer(folder)
    end, text = tokenizer.convert_tokens_to_ids(["<|im_end|>", "<|endoftext|>"])
    _edit(folder / "tokenizer_config.json", eos_token="<|endoftext|>")
    encoder = ChatEncoder(str(folder))
    assert encoder.turn_end_id == end
    assert encoder.stop_token_ids == {end, text}


def test_template_without_an_end_of_turn_takes_eos(folder: Path) -> None:
    _set_template(
        folder, "{% for m in messages %}{{ m['role'] + ': ' + m['content'] }}{% endfor %}"
    )
    tokenizer = make_tokenizer(folder / "again")
    assert ChatEncoder(str(folder)).turn_end_id == tokenizer.eos_token_id


def test_stop_ids_include_those_of_generation_config(folder: Path, encoder: ChatEncoder) -> None:
    more = {7, 9} | encoder.stop_token_ids
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": sorted(more)}))
    assert ChatEncoder(str(folder)).stop_token_ids == more
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": 7}))
    assert ChatEncoder(str(folder)).stop_token_ids == {7} | encoder.stop_token_ids


def test_missing_chat_template_is_explained(folder: Path) -> None:
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(ConfigError, match=r"model\.path .*: the tokenizer has no chat template"):
        ChatEncoder(str(folder))


def test_missing_tokenizer_is_explained(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "qwen2"}))
    with pytest.raises(ConfigError, match=r"model\.path .*: no usable tokenizer"):
        ChatEncoder(str(tmp_path))


def test_row_that_the_template_refuses_is_named(folder: Path) -> None:
    _set_template(
        folder,
        "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
        + CHAT_TEMPLATE,
    )
    system = ({"role": "system", "content": "Be brief."}, *ASK)
    with pytest.raises(DataError, match=r"line 3, field prompt: .* refuses it: no system role"):
        ChatEncoder(str(folder)).encode_prompt(_row(system))


def _set_template(folder: Path, template: str) -> None:
    (folder / "chat_template.jinja").write_text(template)


def _edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
