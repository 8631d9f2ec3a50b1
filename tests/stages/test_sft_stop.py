"""Supervised fine-tuning ends at the first evaluation that is good enough."""

from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from mgpo.config.data import DataConfig
from mgpo.config.evaluation import EvalConfig
from mgpo.config.model import ModelConfig
from mgpo.config.sft import SftTaskConfig
from mgpo.config.training import SftConfig
from mgpo.data.chat import SftExample
from mgpo.learner.checkpoint import TrainState
from mgpo.stages import evaluation, sft


@pytest.fixture
def train(monkeypatch, tmp_path):
    """Run the stage with scripted held-out accuracies; return the steps written and saved."""

    def run(accuracies, state, target=0.2):
        written, saved, amended = [], [], []
        parts = SimpleNamespace(
            state=state,
            interruption=SimpleNamespace(deferred=nullcontext, allowed=nullcontext),
            rollouts=SimpleNamespace(sleep=lambda: None),
            rewards=None,
            learner=SimpleNamespace(update=lambda *_, **__: {}, save=None, export_model=None),
            tracker=SimpleNamespace(write=lambda step, log: written.append(step)),
            checkpoints=SimpleNamespace(amend=amended.append),
            save_if_due=saved.append,
            last_step=4,
            run_dir=SimpleNamespace(final_dir=Path("final")),
            push=lambda *_: None,
        )

        @contextmanager
        def assemble(*_):
            yield parts

        example = SftExample(id="a", token_ids=(1, 2), prompt_len=1)
        inputs = SimpleNamespace(eval_prompts=["p"], examples=[example])
        monkeypatch.setattr(sft, "assemble", assemble)
        monkeypatch.setattr(sft, "load_inputs", lambda _: inputs)
        monkeypatch.setattr(sft, "publish_folder", lambda *_: None)
        monkeypatch.setattr(sft, "summarize", lambda _: "")
        monkeypatch.setattr(
            evaluation, "evaluate", lambda *args: {"eval/accuracy": accuracies[args[-1]]}
        )
        config = SftConfig(
            steps=4,
            model=ModelConfig(path=str(tmp_path)),
            data=DataConfig(train="train.jsonl", eval="eval.jsonl"),
            sft=SftTaskConfig(stop_at_accuracy=target),
            eval=EvalConfig(every=2),
        )
        sft.run(config)
        return written, saved, amended

    return run


def test_it_stops_at_the_first_that_reaches_the_target(train):
    written, saved, _ = train({0: 0.0, 2: 0.25, 4: 0.5}, TrainState())
    assert written == [0, 1, 2]
    assert saved[-1].stop_accuracy == 0.25


def test_an_evaluation_that_was_owed_can_be_the_last(train):
    state = TrainState(step=2, num_updates=2, policy_version=2, owes_evaluation=True)
    written, _, amended = train({2: 0.25, 4: 0.5}, state)
    assert written == [2]
    assert [(after.stop_accuracy, after.owes_evaluation) for after in amended] == [(0.25, False)]


def test_a_higher_target_at_the_resume_trains_on(train):
    state = TrainState(step=2, num_updates=2, policy_version=2, stop_accuracy=0.25)
    written, saved, _ = train({4: 0.1}, state, target=0.3)
    assert written == [3, 4]
    assert saved[-1].stop_accuracy is None
