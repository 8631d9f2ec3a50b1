"""Known answers through the evaluation's own path: data, rows, template, reward.

python benchmarks/evaluation_path.py --data DIR [--sets humaneval mbpp ifeval ...] [--limit N]

DIR holds the sets' own files under their own names: HumanEval.jsonl.gz (openai/human-eval),
HumanEvalPlus-OriginFmt.jsonl.gz and MbppPlus.jsonl.gz (EvalPlus), mbpp.jsonl (google-research),
LeetCodeDataset-v0.3.1-test.jsonl.gz (newfacade/LeetCodeDataset); and, for instructions,
ifeval_official_verdicts.jsonl and ifbench_official_verdicts.jsonl: rows {key, prompt,
instruction_id_list, kwargs, response, strict_verdicts, loose_verdicts}, the verdicts by the
official code.

Programs: the reference solution in a fence is the response, and must be right. Instructions: each
verdict, strict and loose, must be the official one. Prints the share that is, over its limit; the
exit code is 1 when a limit is missed.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mgpo.config.benchmark import BenchmarkConfig
from mgpo.config.evaluate import EvaluateConfig
from mgpo.config.run import RunConfig
from mgpo.data.benchmark import Benchmark, load_benchmarks, load_problems
from mgpo.data.rows import Row
from mgpo.data.sources import read_records
from mgpo.stages.evaluation_grading import with_time_for_programs
from mgpo.stages.scoring import score_request
from rewards.config import RewardConfig
from rewards.offline import score_stream

FILES = {
    "humaneval": "HumanEval.jsonl.gz",
    "humaneval_plus": "HumanEvalPlus-OriginFmt.jsonl.gz",
    "mbpp": "mbpp.jsonl",
    "mbpp_plus": "MbppPlus.jsonl.gz",
    "leetcode": "LeetCodeDataset-v0.3.1-test.jsonl.gz",
    "ifeval": "ifeval_official_verdicts.jsonl",
    "ifbench": "ifbench_official_verdicts.jsonl",
}
INSTRUCTIONS_LIMIT = 0.995
# Faults of the data sets themselves.
BROKEN = {
    ("humaneval_plus", "HumanEval/32"): "its plus tests unpack a float",
    ("mbpp_plus", "Mbpp/255"): "one of its answers takes a gigabyte, far more than a message may",
}


def main() -> int:
    """Prints a line per set; exit code 1 if one misses its limit."""
    args = _parse_args()
    figures = [_measure(name, args) for name in args.sets]
    return 0 if all(figures) else 1


def _measure(name: str, args: argparse.Namespace) -> bool:
    changes: dict[str, Any] = {"sources": [str(args.data / FILES[name])]}
    config = EvaluateConfig(
        run=RunConfig(name="path"), model="none", benchmarks=[name], changes={name: changes}
    )
    [benchmark] = load_benchmarks(config)
    if benchmark.config.metric == "instructions":
        return _measure_instructions(benchmark, args)
    return _measure_programs(benchmark, args)


def _measure_programs(benchmark: Benchmark, args: argparse.Namespace) -> bool:
    rows = load_problems(benchmark, args.limit)
    programs = _programs(benchmark.config)
    config = with_time_for_programs(RewardConfig(processes_per_worker=args.workers), rows)
    requests = [score_request(row, f"```python\n{programs[row.id]}\n```") for row in rows]
    num_right = num_sound = 0
    for row, outcome in zip(rows, score_stream(requests, ["code"], config), strict=True):
        fault = BROKEN.get((benchmark.name, row.id))
        num_sound += fault is None
        num_right += fault is None and outcome.correct
        if not outcome.correct:
            broken = f"broken in the set ({fault})" if fault else "not expected"
            print(f"  {row.id}: {outcome.word}, {broken}: {outcome.detail!s:.300}")
    print(
        f"{benchmark.name}: right {num_right} of {num_sound} sound references "
        f"= {num_right / num_sound:.4f} of the limit",
        flush=True,
    )
    return num_right == num_sound


def _programs(config: BenchmarkConfig) -> dict[str, str]:
    """Reference solutions by the id of their problem."""
    programs = {}
    for record in read_records(config.sources[0]):
        row = record.values
        if config.format == "humaneval":
            programs[row["task_id"]] = row["prompt"] + row["canonical_solution"]
        elif config.format == "mbpp":
            programs[f"mbpp-{row['task_id']}"] = row["code"].replace("\r\n", "\n")
        elif config.format == "leetcode":
            programs[row["task_id"]] = f"{row['prompt']}\n{row['completion']}"
        else:
            programs[row["task_id"]] = row["canonical_solution"]
    return programs


def _measure_instructions(benchmark: Benchmark, args: argparse.Namespace) -> bool:
    records = [record.values for record in read_records(benchmark.config.sources[0])]
    # A response per line: the key alone is not unique there.
    with tempfile.TemporaryDirectory() as scratch:
        rows = list(_instruction_rows(benchmark, records[: args.limit], Path(scratch)))
    config = RewardConfig(processes_per_worker=args.workers)
    requests = [
        score_request(row, record["response"]) for row, record in zip(rows, records, strict=False)
    ]
    counts = {"strict": [0, 0], "loose": [0, 0]}
    for record, outcome in zip(
        records, score_stream(requests, ["constraints"], config), strict=False
    ):
        ours = {
            "strict": outcome.detail.get("verdicts", []),
            "loose": outcome.detail.get("loose_verdicts", []),
        }
        for reading, count in counts.items():
            for index, official in enumerate(record[f"{reading}_verdicts"]):
                if official is not None:
                    count[0] += ours[reading][index : index + 1] == [official]
                    count[1] += 1
    for reading, (num_same, num_all) in counts.items():
        share = num_same / num_all
        print(
            f"{benchmark.name}, {reading}: {num_same} of {num_all} verdicts = {share:.4%} "
            f"over {INSTRUCTIONS_LIMIT:.1%} = {share / INSTRUCTIONS_LIMIT:.4f}",
            flush=True,
        )
    return all(same >= INSTRUCTIONS_LIMIT * every for same, every in counts.values())


def _instruction_rows(
    benchmark: Benchmark, records: list[Mapping[str, Any]], scratch: Path
) -> Iterator[Row]:
    """Read the rows as the benchmark reads its own file, each under a key of its own."""
    path = scratch / f"{benchmark.name}.jsonl"
    keys = ("prompt", "instruction_id_list", "kwargs")
    with path.open("w", encoding="utf-8") as file:
        for number, record in enumerate(records):
            values = {key: record.get(key) or "-" for key in keys}
            file.write(json.dumps({"key": number, **values}) + "\n")
    config = replace(benchmark.config, sources=[str(path)])
    yield from load_problems(replace(benchmark, config=config), None)


def _parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the files")
    parser.add_argument("--sets", nargs="+", choices=FILES, default=["humaneval", "mbpp"])
    parser.add_argument("--limit", type=int, default=None, help="rows of each set")
    parser.add_argument("--workers", type=int, default=1, help="grading processes")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
