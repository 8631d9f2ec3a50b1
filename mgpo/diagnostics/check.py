"""`mgpo check`: what can be known about an experiment without a GPU and without Ray."""

from collections.abc import Sequence

from mgpo.config.errors import DataError
from mgpo.config.load import config_to_yaml
from mgpo.config.stages import RlConfig, StageConfig
from mgpo.data.chat import ChatEncoder
from mgpo.data.inputs import StageInputs, StageRows, encode_rows, load_stage_rows
from mgpo.data.model_files import is_cached, is_hub_name, read_model_facts
from mgpo.data.sources import is_at_hand
from mgpo.diagnostics.batch_plan import batch_table, plan_batches, plan_longest_batches
from rewards.service import check_reward_names


def run(config: StageConfig) -> str:
    """Validate an experiment and return what it resolves to. Raises UserError."""
    parts = [f"# resolved configuration\n{config_to_yaml(config).rstrip()}"]
    absent = _not_at_hand(config)
    inputs = validate_inputs(config, absent)
    if inputs is None:
        parts.append(
            f"# not looked at\n{', '.join(absent)}: fetched from the hub at the start.\n"
            "Rows, chat template and lengths in tokens are checked then, before anything runs."
        )
        if isinstance(config, RlConfig) and config.data.max_prompt_tokens is not None:
            plan = plan_longest_batches(config, config.data.max_prompt_tokens)
            parts.append(f"# batches, every prompt at the limit\n{batch_table(plan)}")
    else:
        parts.append(f"# batches\n{batch_table(plan_batches(config, inputs))}")
        parts.append(f"# a row as the model sees it\n{_rendered_row(inputs)}")
    return "\n\n".join([*parts, "ok"])


def validate_inputs(config: StageConfig, absent: Sequence[str]) -> StageInputs | None:
    """Read every row and check model, data, rewards and lengths, as far as they are at hand.

    Returns None, all else being right, if anything of the hub is not in the local cache.
    """
    path = config.model.path
    if any(source in absent for source in _data_sources(config)):
        return None
    rows = load_stage_rows(config)
    _check_rewards(rows)
    if path in absent:
        return None
    encoder = ChatEncoder(path, local_files_only=True)
    return encode_rows(config, rows, encoder, read_model_facts(path, local_files_only=True))


def _not_at_hand(config: StageConfig) -> list[str]:
    """Return what would have to be downloaded."""
    absent = [source for source in _data_sources(config) if not is_at_hand(source)]
    if is_hub_name(config.model.path) and not is_cached(config.model.path):
        absent.append(config.model.path)
    return absent


def _data_sources(config: StageConfig) -> list[str]:
    return [source for source in (config.data.train, config.data.eval) if source is not None]


def _check_rewards(rows: StageRows) -> None:
    first_use = {row.reward: row for row in reversed((*rows.tasks, *rows.held_out))}
    for name, row in sorted(first_use.items()):
        try:
            check_reward_names([name])
        except ValueError as error:
            raise DataError(f"{row.where}, field reward: {error}") from error


def _rendered_row(inputs: StageInputs) -> str:
    if inputs.examples:
        return inputs.encoder.decode_with_special_tokens(inputs.examples[0].token_ids)
    prompt = inputs.prompts[0]
    rendered = inputs.encoder.decode_with_special_tokens(prompt.token_ids)
    return (
        f"{rendered}\nid {prompt.id}, reward {prompt.reward}, reference {prompt.reference!r:.200}"
    )
