"""Pipelines of small programs, which need no Ray: each adds a line to what it reads."""

from itertools import pairwise
from pathlib import Path

PROGRAM = "import sys; a = open(sys.argv[1]).read(); open(sys.argv[2], 'w').write(a + sys.argv[3])"


def write_script(path: Path, source: Path, target: Path, word: str, program: str = PROGRAM) -> None:
    """Write a step that reads `source` and writes it to `target` with one more word."""
    command = ["python", "-c", program, str(source), str(target), word]
    path.write_text(
        f"stage: script\ncommand: {command!r}\ninputs: [{source}]\noutputs: [{target}]\n"
    )


def write_training(path: Path, runs: Path, data: Path, model: Path, name: str = "sft") -> None:
    """Write a supervised stage."""
    path.write_text(
        f"stage: sft\nsteps: 1\nrun: {{name: {name}, dir: {runs}}}\n"
        f"model: {{path: {model}}}\ndata: {{train: {data}}}\n"
    )


def make_pipeline(folder: Path) -> Path:
    """Write three scripts that follow from each other, and a training stage after them."""
    folder.mkdir()
    (folder / "start.txt").write_text("0")
    model = folder / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    names = ("start", "a", "b", "rows")
    for number, (source, target) in enumerate(pairwise(names), start=1):
        suffix = ".jsonl" if target == "rows" else ".txt"
        write_script(
            folder / f"{number:02d}_{target}.yaml",
            folder / f"{source}.txt",
            folder / f"{target}{suffix}",
            target,
        )
    write_training(folder / "04_sft.yaml", folder / "runs", folder / "rows.jsonl", model)
    return folder
