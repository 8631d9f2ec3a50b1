"""The red team: nothing it tries is accepted, escapes, or is left behind."""

import os

import pytest
import sandbox_attacks as attacks
from sandbox_tiers import open_sandbox, processes

from sandbox.types import Limits, Submission, Test

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["A", "B"])
def sandbox(request):
    with open_sandbox(request.param, num_workers=1) as sandbox:
        yield sandbox


def _submissions(programs, **fields):
    return [Submission(id=name, code=code, **fields) for name, code in programs.items()]


def test_no_forgery_is_accepted(sandbox):
    squares = [Test(input=[3], output=9), Test(input=[4], output=16)]
    judged = sandbox.judge(
        _submissions(
            attacks.FORGERIES,
            kind="function",
            entry_point="solve",
            tests=squares,
            limits=Limits(time_s=1.0, memory_mb=256),
        )
    )
    assert {j.id: j.verdict for j in judged if j.verdict in ("AC", "SE")} == {}


def test_no_assert_is_forged(sandbox):
    judged = sandbox.judge(
        Submission(
            id=f"{name}: {test}",
            kind="assert",
            code=code,
            tests=[Test(source=test)],
            entry_point="f",
            limits=Limits(time_s=1.0, memory_mb=256),
        )
        for name, code in attacks.ASSERT_FORGERIES.items()
        for test in attacks.ASSERTS
    )
    assert {j.id: j.verdict for j in judged if j.verdict not in ("WA", "RE")} == {}


def test_no_escape_is_found(sandbox):
    once = [Test(input="", output="contained\n")] * 2
    judged = sandbox.judge(_submissions(attacks.ESCAPES, tests=once))
    assert {
        j.id: (j.verdict, j.tests[0].stdout_head, j.tests[0].stderr_tail[-300:])
        for j in judged
        if j.verdict != "AC"
    } == {}


def test_nuisances_get_their_verdict(sandbox):
    limits = Limits(time_s=1.0, memory_mb=256, output_mb=16)
    judged = sandbox.judge(
        [
            Submission(id=name, code=code, tests=[Test(input="", output="9\n")], limits=limits)
            for name, (_, code) in attacks.NUISANCES.items()
        ]
    )
    wrong = {
        j.id: (j.verdict, attacks.NUISANCES[j.id][0], j.tests[0])
        for j in judged
        if j.verdict != attacks.NUISANCES[j.id][0]
    }
    assert wrong == {}


def test_nothing_is_left_behind(sandbox):
    """After all of the above, which one judge did: its own processes, and no file."""
    left = processes("from sandbox import")
    assert len(processes("import judge_process")) == 1
    assert len(left) - 1 <= 4 * (2 if sandbox.report.tier == "A" else 1)
    for place in ("/", "/tmp", "/dev/shm", "/var/tmp"):
        assert not [name for name in os.listdir(place) if "mgpo_" in name or name == "left"]
