"""Between messages and token ids: the model's own chat template and tokenizer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mgpo.config.errors import ConfigError, DataError
from mgpo.data.rows import Messages, Row, SftRow
from mgpo.types import Prompt

_PROBE = "probe"


@dataclass(frozen=True, kw_only=True, slots=True)
class SftExample:
    """A prompt and the response to learn, as one sequence."""

    id: str
    token_ids: tuple[int, ...]
    """The generation prompt exactly as sampling renders it, the response, the end of the turn."""
    prompt_len: int


class ChatEncoder:
    """The tokenizer of a model folder (or hub name) and the format it was made for."""

    def __init__(self, model_path: str, *, local_files_only: bool = False) -> None:
        self._tokenizer = _load_tokenizer(model_path, local_files_only)
        self.turn_end_id = self._find_turn_end(model_path)
        self.stop_token_ids = frozenset(self._find_stop_ids(model_path, local_files_only))

    @property
    def vocab_size(self) -> int:
        """Ids from here on have no token, though the model's embedding may be padded beyond."""
        return len(self._tokenizer)

    def encode_prompt(self, row: Row) -> Prompt:
        """Render a row's messages with the generation prompt."""
        return Prompt(
            id=row.id,
            messages=row.messages,
            token_ids=self._prompt_ids(row.messages, row.where),
            domain=row.domain,
            reward=row.reward,
            reference=row.reference,
            fields=row.fields,
        )

    def encode_sft(self, row: SftRow) -> SftExample:
        """Render a row as sampling its prompt would have, had the model given the response.

        The template's own rendering of an assistant turn is not used: some templates rewrite the
        response, and tokens may merge across the border to the prompt.
        """
        prompt_ids = self._prompt_ids(row.messages, row.where)
        response_ids = self._tokenizer(row.response, add_special_tokens=False)["input_ids"]
        stops = self.stop_token_ids.intersection(response_ids)
        if stops:
            raise DataError(
                f"{row.where}, field response: contains {self._tokenizer.decode(min(stops))}, "
                "which ends a turn; leave it out, it is added"
            )
        return SftExample(
            id=row.id,
            token_ids=(*prompt_ids, *response_ids, self.turn_end_id),
            prompt_len=len(prompt_ids),
        )

    def count_tokens(self, text: str) -> int:
        """Return how many tokens a response has, without the end of the turn."""
        return len(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def decode_with_special_tokens(self, token_ids: Sequence[int]) -> str:
        """Return the text as the model sees it."""
        return str(self._tokenizer.decode(list(token_ids), clean_up_tokenization_spaces=False))

    def _prompt_ids(self, messages: Messages, where: str) -> tuple[int, ...]:
        from jinja2 import TemplateError

        try:
            encoded = self._tokenizer.apply_chat_template(
                [dict(message) for message in messages],
                add_generation_prompt=True,
                return_dict=True,
            )
        except TemplateError as error:
            raise DataError(
                f"{where}, field prompt: the model's chat template refuses it: {error}"
            ) from error
        return tuple(encoded["input_ids"])

    def _find_turn_end(self, model_path: str) -> int:
        """Return the special token that the template puts after an assistant's words.

        It need not be the tokenizer's end-of-sequence token: the base models of Qwen2.5 name
        <|endoftext|> there and close turns with <|im_end|>.
        """
        messages: list[Mapping[str, str]] = [
            {"role": "user", "content": "question"},
            {"role": "assistant", "content": _PROBE},
        ]
        rendered = self._tokenizer.apply_chat_template(messages, tokenize=False)
        tail = rendered.rpartition(_PROBE)[2]
        added = self._tokenizer.added_tokens_decoder
        for token_id in self._tokenizer(tail, add_special_tokens=False)["input_ids"]:
            if token_id in added and added[token_id].special:
                return int(token_id)
        if self._tokenizer.eos_token_id is None:
            raise ConfigError(
                f"model.path {model_path}: neither the chat template nor the tokenizer names a "
                "token that ends a turn; set eos_token in tokenizer_config.json"
            )
        return int(self._tokenizer.eos_token_id)

    def _find_stop_ids(self, model_path: str, local_files_only: bool) -> Iterator[int]:
        from transformers import GenerationConfig

        yield self.turn_end_id
        if self._tokenizer.eos_token_id is not None:
            yield int(self._tokenizer.eos_token_id)
        try:
            named = GenerationConfig.from_pretrained(
                model_path, local_files_only=local_files_only
            ).eos_token_id
        except OSError:  # a folder need not have generation_config.json
            return
        if named is not None:
            yield from [named] if isinstance(named, int) else named


def _load_tokenizer(model_path: str, local_files_only: bool) -> Any:
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(model_path, local_files_only=local_files_only)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"model.path {model_path}: no usable tokenizer: {reason}") from error
    if not tokenizer(_PROBE, add_special_tokens=False)["input_ids"]:
        # transformers makes an empty tokenizer for a folder that has none
        raise ConfigError(
            f"model.path {model_path}: no usable tokenizer: it has no vocabulary; add "
            "tokenizer.json and tokenizer_config.json to the folder"
        )
    if tokenizer.chat_template is None:
        raise ConfigError(
            f"model.path {model_path}: the tokenizer has no chat template; add a "
            "chat_template.jinja to the folder, e.g. that of the instruct model"
        )
    return tokenizer
