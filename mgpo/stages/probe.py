"""`mgpo probe`: Pass@K of a run's models on several domains, and the specialist of each domain."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from mgpo.algorithm.specialists import Tally, find_specialist, measure
from mgpo.config.errors import DataError, UserError
from mgpo.config.probe import ProbeConfig
from mgpo.data.domains import load_domains
from mgpo.data.inputs import check_rewards, every_reward
from mgpo.data.rows import Row
from mgpo.data.saved_models import check_model_folder, exported_models
from mgpo.stages.probe_report import Probed, write_report
from mgpo.stages.sampler import encode_tasks, open_grading, sample_all
from mgpo.tracking.provenance import read_launches
from mgpo.tracking.run_dir import RunDir
from mgpo.tracking.sample_store import StoredSample

Tallies = Mapping[str, Tally]
"""Id of a problem -> its samples under one checkpoint."""


def run(config: ProbeConfig) -> str:
    """Sample every model on every domain, choose the specialists, and return the table.

    Raises UserError.
    """
    config = _with_models(config)
    models = config.models or []
    rows = load_domains(config.domains)
    every_row = [row for own in rows.values() for row in own]
    check_rewards(every_row, config.reward)
    scopes = _scopes(config, rows)
    tasks = [encode_tasks(config, model, every_row) for model in models]
    with closing(RunDir.open(config)) as run_dir:
        paths = [run_dir.samples_dir / name for name in _sample_files(run_dir, models)]
        with open_grading(config, every_reward(every_row)) as (cluster, rewards):
            tallies = []
            for model, task, path in zip(models, tasks, paths, strict=True):
                groups = sample_all(config, cluster, rewards, task, path, Path(model).name)
                tallies.append({group[0].prompt_id: _tally(group) for group in groups})
        probed = [_probe(scope, problems, tallies, config) for scope, problems in scopes.items()]
        return write_report(run_dir.path, config, probed)


def _with_models(config: ProbeConfig) -> ProbeConfig:
    """Name the models one by one, so that the run's config.yaml says which were compared."""
    if config.run_dir is not None:
        found = exported_models(config.run_dir, config.checkpoints)
        config = replace(config, run_dir=None, checkpoints=None, models=found)
    for model in config.models or []:
        check_model_folder("models", model)
    return config


def _scopes(config: ProbeConfig, rows: Mapping[str, Sequence[Row]]) -> dict[str, list[str]]:
    """Return the ids of the problems of each domain and sub-domain (`domain/value`)."""
    scopes = {}
    for name, domain in config.domains.items():
        scopes[name] = [row.id for row in rows[name]]
        if domain.split_by is None:
            continue
        for row in rows[name]:
            value = row.fields.get(domain.split_by)
            if value is None:
                raise DataError(
                    f"{row.where}, field {domain.split_by}: missing; domains.{name}.split_by "
                    "reads it, so every row must name its sub-domain"
                )
            scopes.setdefault(f"{name}/{value}", []).append(row.id)
    return scopes


def _sample_files(run_dir: RunDir, models: Sequence[str]) -> list[str]:
    """Name each model's samples by its contents: another model of the same name is sampled anew."""
    inputs = read_launches(run_dir.provenance_path)[-1]["inputs"]
    names = []
    for index, model in enumerate(models):
        hashes = json.dumps(inputs[f"models.{index}"]["sha256"], sort_keys=True)
        digest = hashlib.sha256(hashes.encode()).hexdigest()
        names.append(f"{Path(model).name}-{digest:.12}.jsonl")
    return names


def _tally(group: Sequence[StoredSample]) -> Tally:
    """Count the samples that have a verdict."""
    valid = [sample for sample in group if sample.is_valid]
    return Tally(num_samples=len(valid), num_correct=sum(sample.is_correct for sample in valid))


def _probe(
    scope: str, problems: Sequence[str], tallies: Sequence[Tallies], config: ProbeConfig
) -> Probed:
    """Compare the models on the problems that have k verdicts or more under each of them."""
    whole = [
        problem
        for problem in problems
        if all(own[problem].num_samples >= config.k for own in tallies)
    ]
    if not whole:
        raise UserError(
            f"domain {scope}: no problem has k={config.k} samples with a verdict under every "
            "model; their outcome.reason in samples/ says why"
        )
    left_out = set(problems).difference(whole)
    compared = [[own[problem] for problem in whole] for own in tallies]
    is_solved = any(tally.num_correct for own in compared for tally in own)
    is_candidate = _has_specialist(scope, config)
    if is_candidate and not is_solved:
        raise UserError(
            f"domain {scope}: no model solved any of its {len(whole)} problems, so none is its "
            "specialist; take easier problems, more samples, or leave it out"
        )
    return Probed(
        scope=scope,
        num_problems=len(whole),
        left_out=tuple(problem for problem in problems if problem in left_out),
        measured=tuple(measure(own, config.k) for own in compared),
        best=find_specialist(compared, config.k) if is_solved else None,
        is_candidate=is_candidate,
    )


def _has_specialist(scope: str, config: ProbeConfig) -> bool:
    name, is_part, _ = scope.partition("/")
    return bool(is_part) == (config.domains[name].specialists == "subdomain")
