"""What a distillation writes follows from the samples and scores on disk, killed or not."""

import json
from collections import Counter

import pytest
import torch
from stage_runs import NUM_ROWS, finish, kill_when, make_domains, num_lines, start
from transformers import AutoModelForCausalLM

from mgpo.config.data import RowsConfig
from mgpo.data.chat import ChatEncoder
from mgpo.data.rows import load_sft_rows
from mgpo.tracking.sample_store import read_stored_samples

SAMPLES = 8
NUM_SAMPLES = 2 * NUM_ROWS * SAMPLES
# Several chunks of scores, and more than a few in a bucket.
SETTINGS = (
    "learner: {max_tokens_per_microbatch: 512}\nselection: {min_tokens: 8}\n"
    f"sampling: {{samples_per_prompt: {SAMPLES}, max_completion_tokens: 200}}\n"
)


@pytest.fixture
def experiment(tmp_path):
    path = tmp_path / "distill.yaml"
    two, three = (tmp_path / f"step_{seed}" for seed in (2, 3))
    path.write_text(
        f"{make_domains(tmp_path)}teachers: {{math: {two}, code: {three}}}\nstudent: {two}\n"
        f"temperature: 0.7\n{SETTINGS}"
    )
    return path


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def score_by_transformers(model, encoder, row, temperature):
    """-(1/|y|) sum_t ln p(y_t) by the model's own forward pass, one trace at a time."""
    example = encoder.encode_sft(row)
    ids = torch.tensor([example.token_ids])
    with torch.no_grad():
        logits = model(ids).logits[0, :, : encoder.vocab_size] / temperature
    logprobs = logits.log_softmax(-1)[:-1].gather(1, ids[0, 1:, None])[:, 0]
    return -float(logprobs[example.prompt_len - 1 :].double().mean())


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_killed_distillation_ends_as_the_undisturbed_one(experiment, tmp_path):
    whole = tmp_path / "undisturbed"
    said = finish(experiment, "distill", "undisturbed")
    kept, dropped = read_lines(whole / "sft.jsonl"), read_lines(whole / "dropped.jsonl")
    assert f"{len(kept)} traces kept" in said
    # Every sample is in one file or the other, with a reason.
    assert len({row["id"] for row in kept + dropped}) == len(kept + dropped) == NUM_SAMPLES
    reasons = Counter(drop["reason"] for drop in dropped)
    assert reasons["wrong"] > 0
    assert reasons["low score"] > 0
    samples = {
        f"{sample.prompt_id}/{sample.sample_index}": sample
        for domain in ("math", "code")
        for sample in read_stored_samples(whole / "samples" / f"{domain}.jsonl")
    }
    assert all(samples[row["id"]].is_correct for row in kept)
    assert all(samples[row["id"]].text == row["response"] for row in kept)

    # What supervised training reads is what was scored.
    rows = load_sft_rows(str(whole / "sft.jsonl"), RowsConfig())
    encoder = ChatEncoder(str(tmp_path / "step_2"))
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "step_2", dtype=torch.float32)
    expected = [score_by_transformers(model, encoder, row, 0.7) for row in rows]
    assert [row["score"] for row in kept] == pytest.approx(expected, abs=1e-5)
    report = json.loads((whole / "report.json").read_text())
    for domain in report["domains"].values():
        assert domain["sampled"] == domain["kept"] + sum(domain["dropped"].values())
        assert domain["verified"] == sum(bucket["traces"] for bucket in domain["buckets"]) + domain[
            "dropped"
        ].get("short", 0)
        assert all(sum(b["histogram"]) == b["traces"] for b in domain["buckets"])

    run, log = tmp_path / "killed", tmp_path / "killed.log"
    process = start(experiment, "distill", "killed")
    scores = run / "samples" / "scores" / "student.jsonl"
    kill_when(lambda: num_lines(scores) > 0, process, log)
    num_scored = num_lines(scores)
    assert not (run / "sft.jsonl").exists()
    finish(experiment, "distill", "killed")
    assert num_scored < num_lines(scores)
    for name in ("sft.jsonl", "dropped.jsonl", "report.json", "report.txt"):
        assert (run / name).read_bytes() == (whole / name).read_bytes()

    # Another selection takes neither engine nor learner.
    said = finish(experiment, "distill", "killed", "selection.kept_share=1")
    assert "learner:" not in said
    assert len(read_lines(run / "sft.jsonl")) == len(kept) + reasons["low score"]
