"""Known cases in both tiers: hacks, escapes, limits, and unusual but right programs."""

import json
from pathlib import Path

import pytest
from sandbox_tiers import open_sandbox

from sandbox.types import Submission

pytestmark = pytest.mark.slow

CASES = Path(__file__).parent.parent / "sandbox_cases.jsonl"
ROWS = [json.loads(line) for line in CASES.read_text().splitlines()]


@pytest.mark.parametrize("tier", ["A", "B"])
def test_every_case_gets_its_verdict(tier):
    with open_sandbox(tier) as sandbox:
        judged = sandbox.judge(map(Submission.from_row, ROWS))
    wrong = {}
    for row, judgement in zip(ROWS, judged, strict=True):
        allowed = {row["expected_verdict"], *(row.get("also_ok") or ())}
        per_test = [test.verdict for test in judgement.tests]
        if judgement.verdict not in allowed or per_test != (
            row.get("per_test_verdicts") or per_test
        ):
            wrong[row["id"]] = judgement
        for path in (row.get("post_check") or {}).get("no_file", ()):
            assert not Path(path).exists()
    assert wrong == {}
