"""`mgpo check`: what can be known about an experiment without a GPU and without Ray."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mgpo.config.errors import UserError
from mgpo.config.evaluate import EvaluateConfig
from mgpo.config.load import config_to_yaml
from mgpo.config.stage import StageConfig
from mgpo.config.stages import AnyConfig
from mgpo.config.training import RlConfig, SftConfig, TrainingConfig
from mgpo.data.chat import ChatEncoder
from mgpo.data.inputs import StageInputs, encode_rows, load_stage_rows
from mgpo.data.model_files import is_cached, is_hub_name, load_model_config, read_model_facts
from mgpo.data.sft_batches import plan_sft_batches
from mgpo.data.sources import is_at_hand
from mgpo.diagnostics.batch_plan import batch_table, plan_batches, plan_longest_batches
from mgpo.diagnostics.evaluation_check import check_evaluation
from mgpo.diagnostics.memory_plan import ModelShape, plan_memory
from mgpo.diagnostics.reward_check import reward_table
from mgpo.diagnostics.sft_plan import sft_table
from mgpo.diagnostics.tables import format_table, schedule_table
from mgpo.pipeline.steps import load_steps, maker_of, pipeline_dir
from mgpo.rollout.engines import installed_vllm


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """What an experiment is to run on, for the plan of memory."""

    gpu_gib: float = 80.0
    model_config: Path | None = None
    """A config.json to take the model's sizes from where the model is not at hand."""


def run(config: AnyConfig, machine: Machine) -> str:
    """Validate an experiment and return what it resolves to. Raises UserError."""
    parts = [f"# resolved configuration\n{config_to_yaml(config).rstrip()}"]
    if isinstance(config, TrainingConfig):
        parts += _check_training(config, machine, {})
    if isinstance(config, EvaluateConfig):
        parts += check_evaluation(config)
    return "\n\n".join([*parts, "ok"])


def run_pipeline(folder: Path, overrides: Sequence[str], machine: Machine) -> str:
    """Validate every step of a pipeline, as far as its inputs are there already. Raises
    UserError."""
    steps = load_steps(folder, overrides)
    pipeline_dir(steps, folder)
    parts = []
    for index, step in enumerate(steps):
        makers = {
            source: maker.name
            for source in step.inputs.values()
            if (maker := maker_of(source, steps[:index])) is not None and not Path(source).exists()
        }
        lines = [
            f"  {key}: {source}{_made_by(source, makers)}" for key, source in step.inputs.items()
        ]
        parts.append("\n".join([f"## {step.name}: mgpo {step.stage} {step.path}", *lines]))
        try:
            if isinstance(step.config, TrainingConfig):
                parts += _check_training(step.config, machine, makers)
            if isinstance(step.config, EvaluateConfig):
                parts += check_evaluation(step.config)
        except UserError as error:
            raise UserError(f"{step.path}: {error}") from error
    return "\n\n".join([*parts, f"{len(steps)} steps ok"])


def _where_from(source: str, makers: Mapping[str, str]) -> str:
    return f"made by {makers[source]}" if source in makers else "fetched from the hub at the start"


def _made_by(source: str, makers: Mapping[str, str]) -> str:
    return f" (made by {makers[source]})" if source in makers else ""


def _check_training(
    config: TrainingConfig, machine: Machine, makers: Mapping[str, str]
) -> list[str]:
    """Return what is known of a training stage; `makers` names what makes inputs that need not be
    there yet."""
    parts = []
    absent = _not_at_hand(config, makers)
    inputs = validate_inputs(config, absent)
    if inputs is None:
        lines = [f"{source}: {_where_from(source, makers)}" for source in absent]
        parts.append(
            "\n".join(["# not looked at", *lines])
            + "\nRows, chat template and lengths in tokens are checked then, before anything runs."
        )
        if isinstance(config, RlConfig) and config.data.max_prompt_tokens is not None:
            plan = plan_longest_batches(config, config.data.max_prompt_tokens)
            parts.append(f"# batches, every prompt at the limit\n{batch_table(plan)}")
            parts.append(_learning_rate(config, plan.total_updates))
    else:
        parts += _batches(config, inputs)
        parts.append(f"# a row as the model sees it\n{_rendered_row(inputs)}")
        if inputs.reward_names:
            parts.append(f"# rewards, on their known items\n{reward_table(config, inputs)}")
    shape = _model_shape(config, machine, absent)
    if shape is not None:
        rows = plan_memory(config, shape, machine.gpu_gib)
        table = "\n".join(f"  {name:<52}{value}" for name, value in rows)
        parts.append(f"# memory on GPUs of {machine.gpu_gib:.0f} GiB, estimated\n{table}")
    if config.rollout.engine == "vllm" and not installed_vllm():
        parts.append(
            "# note\nrollout.engine is vllm, which is not installed on this host: the hosts that "
            "engines run on need it."
        )
    return parts


def _batches(config: TrainingConfig, inputs: StageInputs) -> list[str]:
    if isinstance(config, SftConfig):
        batches = plan_sft_batches(inputs.examples, config)
        table = format_table(sft_table(batches, config.learner))
        return [f"# batches\n{table}", _learning_rate(config, batches.num_steps)]
    assert isinstance(config, RlConfig)
    plan = plan_batches(config, inputs)
    return [f"# batches\n{batch_table(plan)}", _learning_rate(config, plan.total_updates)]


def _learning_rate(config: TrainingConfig, total_updates: int) -> str:
    return f"# learning rate\n{format_table(schedule_table(config.learner, total_updates))}"


def validate_inputs(config: TrainingConfig, absent: Sequence[str]) -> StageInputs | None:
    """Read every row and check model, data, rewards and lengths, as far as they are at hand.

    Returns None, all else being right, if anything of the hub is not in the local cache.
    """
    path = config.model.path
    if any(source in absent for source in _data_sources(config)):
        return None
    rows = load_stage_rows(config)
    if path in absent:
        return None
    encoder = ChatEncoder(path, local_files_only=True)
    return encode_rows(
        config, rows, encoder, read_model_facts(path, config.model.rope, local_files_only=True)
    )


def _model_shape(
    config: TrainingConfig, machine: Machine, absent: Sequence[str]
) -> ModelShape | None:
    if config.model.path not in absent:
        return ModelShape.of(load_model_config(config.model.path, local_files_only=True))
    if machine.model_config is None:
        return None
    return ModelShape.of(load_model_config(str(machine.model_config)))


def _not_at_hand(config: TrainingConfig, makers: Mapping[str, str]) -> list[str]:
    """Return what would have to be downloaded, or is to be made first."""
    sources = _data_sources(config)
    absent = [source for source in sources if source in makers or not is_at_hand(source)]
    path = config.model.path
    if path in makers or (is_hub_name(path) and not is_cached(path)):
        absent.append(path)
    return absent


def _data_sources(config: StageConfig) -> list[str]:
    return list(config.data_sources().values())


def _rendered_row(inputs: StageInputs) -> str:
    if inputs.examples:
        return inputs.encoder.decode_with_special_tokens(inputs.examples[0].token_ids)
    prompt = inputs.prompts[0]
    rendered = inputs.encoder.decode_with_special_tokens(prompt.token_ids)
    return (
        f"{rendered}\nid {prompt.id}, reward {prompt.reward}, reference {prompt.reference!r:.200}"
    )
