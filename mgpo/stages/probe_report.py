"""What a probe leaves behind: results.json, merge.yaml, specialists/, pass_at_k.svg, the table."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from mgpo.algorithm.specialists import Measured
from mgpo.config.probe import ProbeConfig
from mgpo.data.saved_models import short_names
from mgpo.stages.pass_plot import Curve, draw_curves
from mgpo.tracking.files import write_atomically


@dataclass(frozen=True, kw_only=True, slots=True)
class Probed:
    """The models on one domain or sub-domain."""

    scope: str
    """Its name; `domain/value` for a sub-domain."""
    num_problems: int
    left_out: tuple[str, ...]
    """Problems with too few verdicts under one of the models."""
    measured: tuple[Measured, ...]
    """In the order of the models."""
    best: int | None
    """Index of the model with the highest Pass@K; None: no model solved anything."""
    is_candidate: bool
    """Whether that model is a specialist, which is merged."""


def write_report(folder: Path, config: ProbeConfig, probed: Sequence[Probed]) -> str:
    """Write all files into the run's folder, results.json last; return the table."""
    models = [str(Path(model).resolve()) for model in config.models or []]
    names = short_names(models)
    write_atomically(folder / "pass_at_k.svg", _plot(names, probed, config.k))
    specialists = {
        each.scope: models[each.best]
        for each in probed
        if each.is_candidate and each.best is not None
    }
    for scope, model in specialists.items():
        _link(folder / "specialists" / scope, model)
    chosen = list(specialists.values())
    merge = {"stage": "merge", "models": chosen, "output": str(folder / "merged")}
    write_atomically(folder / "merge.yaml", yaml.safe_dump(merge, sort_keys=False))
    results = {
        "k": config.k,
        "samples_per_prompt": config.sampling.samples_per_prompt,
        "models": models,
        "specialists": specialists,
        "domains": {each.scope: _result(each, models) for each in probed},
    }
    write_atomically(folder / "results.json", json.dumps(results, indent=1) + "\n")
    files = f"results and plot in {folder}; merge the specialists: mgpo merge {folder}/merge.yaml"
    return "\n".join([*_table(names, probed, config.k), files])


def _link(place: Path, model: str) -> None:
    """Give a specialist a name that is known before it is chosen, for later steps of a pipeline."""
    place.parent.mkdir(parents=True, exist_ok=True)
    writing = place.with_name(f".{place.name}.writing")
    writing.unlink(missing_ok=True)
    writing.symlink_to(model, target_is_directory=True)
    writing.replace(place)


def _result(probed: Probed, models: Sequence[str]) -> dict[str, Any]:
    return {
        "num_problems": probed.num_problems,
        "left_out": list(probed.left_out),
        "best": None if probed.best is None else models[probed.best],
        "is_specialist": probed.is_candidate,
        "models": [
            {
                "model": model,
                **_interval("pass_at_k", measured.pass_at_k),
                **_interval("pass_at_1", measured.pass_at_1),
            }
            for model, measured in zip(models, probed.measured, strict=True)
        ],
    }


def _interval(name: str, value: tuple[float, float, float]) -> dict[str, float]:
    mean, low, high = value
    return {name: mean, f"{name}_low": low, f"{name}_high": high}


def _table(names: Sequence[str], probed: Sequence[Probed], k: int) -> list[str]:
    """Return a line per domain and model; a star marks the best model."""
    width = max(len("domain"), *(len(each.scope) for each in probed))
    column = max(len("model"), *(len(name) for name in names))
    lines = [
        f"{'domain':<{width}}  {'problems':>8}  {'model':<{column}}    "
        f"{f'Pass@{k}, %':<24}{'Pass@1, %':<24}"
    ]
    for each in probed:
        for index, (name, measured) in enumerate(zip(names, each.measured, strict=True)):
            mark = ("*" if each.is_candidate else "+") if index == each.best else " "
            lines.append(
                f"{each.scope:<{width}}  {each.num_problems:>8}  {name:<{column}} {mark}  "
                f"{_percent(measured.pass_at_k):<24}{_percent(measured.pass_at_1):<24}".rstrip()
            )
    lines.append("* specialist   + best of a part or a whole for which no specialist is chosen")
    left_out = sum(len(each.left_out) for each in probed if "/" not in each.scope)
    if left_out:
        lines.append(f"{left_out} problems left out: too few verdicts (results.json lists them)")
    return lines


def _percent(value: tuple[float, float, float]) -> str:
    mean, low, high = (100 * part for part in value)
    return f"{mean:.1f} ({low:.1f} to {high:.1f})"


def _plot(names: Sequence[str], probed: Sequence[Probed], k: int) -> str:
    curves = [
        Curve(name=each.scope, points=tuple(m.pass_at_k for m in each.measured), best=each.best)
        for each in probed
    ]
    return draw_curves(f"Pass@{k} in % by model; bars: 95 % over problems", names, curves)
