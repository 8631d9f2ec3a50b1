"""What `mgpo clr` and `mgpo solve` print."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mgpo.stages.claims.choices import ProblemAnswers
from mgpo.stages.evaluation_table import align, percent, sampling_line
from mgpo.tracking.result_files import ResultFiles

_METHODS = {
    "pass@": "one trajectory",
    "maj@": "majority vote",
    "logprob@": "vote weighted by mean log-prob",
    "clr@": "claim-level reliability",
    "oracle@": "at least one is right",
}


def clr_table(record: Mapping[str, Any], files: ResultFiles) -> str:
    """Return figures, counts and places of a finished run as text."""
    parts = [f"model {record['model']}"]
    for result in record["benchmarks"].values():
        parts += ["", f"{result['title']}: {_size(result)}", align(list(_rows(result))), ""]
        parts += [*_counts(result), sampling_line(result["sampling"])]
    return "\n".join([*parts, "", f"results {files.results_path}"])


def _size(result: Mapping[str, Any]) -> str:
    return (
        f"{result['problems']} problems x {result['trajectories']} trajectories x "
        f"{result['claims']} claims, {result['repeats']} repeats"
    )


def _rows(result: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    yield "method", "", "right, %", "sampled tokens an answer"
    for key, tokens in result.items():
        if key.startswith("tokens."):
            name = key.removeprefix("tokens.")
            meaning = next(text for start, text in _METHODS.items() if name.startswith(start))
            yield name, meaning, percent(result[name]), f"{tokens:,.0f}"


def _counts(result: Mapping[str, Any]) -> Iterator[str]:
    gain = result["clr_gain"]
    mean, low, high = (100 * gain[key] for key in ("mean", "low", "high"))
    yield f"CLR over majority vote, points: {mean:+.1f} ({low:+.1f} to {high:+.1f})"
    if f"logprob@{result['trajectories']}" not in result:
        yield "no vote weighted by log-prob: the samples have no log-probs (server.wants_logprobs)"
    yield f"extraction: {_in_words(result['extraction'])}"
    yield f"verification: {_in_words(result['verification'])}"
    left_out = {
        "truncated trajectories": result["trajectories_truncated"],
        "trajectories without a verdict": result["trajectories_without_verdict"],
        "extracted answers without a verdict": result["answers_without_verdict"],
        "problems without a verdict": result["problems_without_verdict"],
    }
    yield ", ".join(f"{name} {number}" for name, number in left_out.items())


def _in_words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {number}" for name, number in counts.items())


def solution_text(answers: ProblemAnswers, num_claims: int) -> str:
    """Return the answer to one problem with its clusters, claims and reliability."""
    everything = slice(0, len(answers.trajectories))
    clusters = answers.clr(everything).clusters
    lines = [f"answer: {clusters[0]['answer']}" if clusters else "answer: none was found"]
    for cluster in clusters:
        members = cluster["members"]
        lines.append(
            f"\n{cluster['answer']}: score {cluster['score']:.4g} of {len(members)} trajectories"
        )
        for place in members:
            lines += _trajectory_lines(answers, place, num_claims)
    outside = [place for place, vote in enumerate(answers.extracted.votes) if vote is None]
    lines += [f"\nwithout an answer: {len(outside)} trajectories"] if outside else []
    for place in outside:
        lines += _trajectory_lines(answers, place, num_claims)
    sampled = sum(each.sample.num_tokens for each in answers.trajectories)
    asked = sum(each.num_question_tokens for each in answers.trajectories)
    lines.append(f"\nsampled tokens: {sampled:,} in trajectories, {asked:,} on claims")
    return "\n".join(lines)


def _trajectory_lines(answers: ProblemAnswers, place: int, num_claims: int) -> Sequence[str]:
    each = answers.trajectories[place]
    claims = each.extracted.claims if each.extracted else ()
    state = f"{len(claims)} of {num_claims} claims"
    if each.extracted is None:
        state = "truncated" if each.sample.is_truncated else f"no claims ({each.problem})"
    words = {True: "holds", False: "false", None: "?"}
    return [
        f"  trajectory {place}: reliability {each.reliability:.4g}, {state}",
        *(
            f"    {words[check.holds]:<5}  {claim}"
            for claim, check in zip(claims, each.checks, strict=True)
        ),
    ]
