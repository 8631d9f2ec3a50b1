"""The pool: order, back-pressure, and processes that die in the middle."""

import asyncio
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from sandbox_tiers import open_sandbox, processes

from sandbox.config import SandboxConfig
from sandbox.isolation.tiers import WeakSandboxError
from sandbox.pool import Sandbox
from sandbox.types import Judgement, Limits, Submission, Test

SLOW = "import time; time.sleep(0.3); print(input())"


def _echo(number, code="print(input())"):
    return Submission(
        id=str(number), code=code, tests=[Test(input=f"{number}\n", output=f"{number}\n")]
    )


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(SandboxConfig(num_workers=2)) as sandbox:
        yield sandbox


def test_judgements_come_in_order_and_go_to_json(sandbox):
    judged = sandbox.judge(_echo(number) for number in range(40))
    assert [j.id for j in judged] == [str(number) for number in range(40)]
    assert {j.verdict for j in judged} == {"AC"}
    assert Judgement.from_row(judged[0].to_row()) == judged[0]


def test_an_event_loop_is_served(sandbox):
    async def many():
        return await asyncio.gather(*(sandbox.judge_async(_echo(n)) for n in range(10)))

    assert {j.verdict for j in asyncio.run(many())} == {"AC"}


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["judge_process", "zygote"])
def test_a_process_killed_in_the_middle_loses_and_doubles_nothing(sandbox, victim):
    futures = []
    feeder = threading.Thread(
        target=lambda: futures.extend(sandbox.submit(_echo(n, SLOW)) for n in range(12))
    )
    feeder.start()
    for _ in range(3):
        time.sleep(0.4)
        for process in processes(f"import {victim}")[:1]:
            os.kill(process, signal.SIGKILL)
    feeder.join()
    judged = [future.result(timeout=60) for future in futures]
    assert [(j.id, j.verdict) for j in judged] == [(str(n), "AC") for n in range(12)]


@pytest.mark.slow
def test_nothing_outlives_a_closed_sandbox():
    before = set(processes("from sandbox import"))
    with Sandbox(SandboxConfig(num_workers=2)) as own:
        own.judge(_echo(number) for number in range(4))
        assert set(processes("from sandbox import")) - before
    deadline = time.monotonic() + 10
    while set(processes("from sandbox import")) - before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert set(processes("from sandbox import")) - before == set()
    with pytest.raises(RuntimeError, match="closed"):
        own.submit(_echo(0))


def test_a_weak_tier_is_refused_unless_asked_for():
    with pytest.raises(WeakSandboxError, match="allow_weak_sandbox=True accepts that"):
        Sandbox(SandboxConfig(num_workers=1, tier="C"))
    with Sandbox(SandboxConfig(num_workers=1, tier="C", allow_weak_sandbox=True)) as weak:
        [judged] = weak.judge([_echo(1)])
    assert (judged.verdict, judged.tier) == ("AC", "C")


def test_a_language_that_is_not_here_is_an_error_at_once(sandbox):
    with pytest.raises(ValueError, match="give one of python, cpp, c"):
        sandbox.submit(Submission(code="", language="cobol", tests=[Test(input="", output="")]))


@pytest.mark.slow
def test_cpp_is_compiled_and_judged(sandbox):
    text = "#include <iostream>\nint main() { long n; std::cin >> n; std::cout << n * n; }"
    tests = [Test(input="3", output="9"), Test(input="100000", output="10000000000")]
    try:
        right, wrong, broken = sandbox.judge(
            Submission(code=code, language="cpp", tests=tests)
            for code in (text, text.replace("long", "int"), text.replace("main", "1main"))
        )
    except ValueError as error:
        pytest.skip(str(error))
    assert right.verdict == "AC"
    assert [t.verdict for t in wrong.tests] == ["AC", "WA"]
    assert (broken.verdict, broken.tests[0].detail) == ("RE", "compile error")


ORDINARY = {
    "exit()": "print(input())\nexit()",
    "quit": "print(input())\nquit(0)",
    "a file on stdout": "out = open(1, 'w')\nout.write(input())",
    "a wrapped stdout": (
        "import io, sys\nout = io.TextIOWrapper(sys.stdout.buffer)\nout.write(input())"
    ),
    "closed stdout": "import sys\nprint(input())\nsys.stdout.close()",
    "a larger stack": (
        "import resource, sys, threading\nresource.setrlimit(resource.RLIMIT_STACK, (2**28, -1))\n"
        "sys.setrecursionlimit(10**6)\nthreading.stack_size(2**27)\n"
        "t = threading.Thread(target=lambda: print(input()))\nt.start()\nt.join()"
    ),
    "an exit hook": "import atexit\natexit.register(lambda: print(input()))",
    "stdin by name": "print(open('/dev/stdin').read())",
    "input by its size": (
        "import os\nfrom io import BytesIO\n"
        "input = BytesIO(os.read(0, os.fstat(0).st_size)).readline\nprint(input().decode())"
    ),
    "mapped input": "import mmap\nprint(mmap.mmap(0, 0, prot=mmap.PROT_READ)[:].decode())",
    "input that cannot be changed": (
        "import os\ntry:\n    os.write(0, b'x')\nexcept OSError:\n    print(input())"
    ),
    "a stdout of its own": (
        "import sys\nclass Out:\n    def write(self, text): sys.__stdout__.write(text)\n"
        "    def flush(self): sys.__stdout__.flush()\nsys.stdout = Out()\nprint(input())"
    ),
    "a finalizer that uses a global": (
        "text = input()\nclass A:\n    def __del__(self): print(text)\na = A()"
    ),
    "an exit with a file open": (
        "import sys\nout = open(1, 'w', closefd=False)\nout.write(input())\nsys.exit()"
    ),
    "a mark of byte order": "\ufeffprint(input())",
    "recursion as deep as elsewhere": ("def f(n): return n and f(n - 1)\nf(985)\nprint(input())"),
    "an event loop": "import asyncio\nasync def main(): print(input())\nasyncio.run(main())",
}


@pytest.mark.slow
@pytest.mark.parametrize("tier", ["A", "B"])
def test_ordinary_programs_run_as_they_do_elsewhere(tier):
    with open_sandbox(tier, num_workers=1) as own:
        judged = own.judge(_echo(7, code) for code in ORDINARY.values())
    seen = {
        name: (j.verdict, j.tests[0].stderr_tail) for name, j in zip(ORDINARY, judged, strict=True)
    }
    assert {name: said for name, said in seen.items() if said[0] != "AC"} == {}


@pytest.mark.parametrize(
    ("limits", "code", "verdict"),
    [
        (Limits(time_s=0.5), "while True: pass", "TLE"),
        (Limits(memory_mb=64), "x = bytearray(1 << 30)", "MLE"),
        (Limits(output_mb=0.1), "print('x' * 10**6)", "OLE"),
        (Limits(), "import os; os.fork()", "RE"),
    ],
    ids=["time", "memory", "output", "processes"],
)
def test_each_limit_bites(sandbox, limits, code, verdict):
    [judged] = sandbox.judge(
        [Submission(code=code, tests=[Test(input="", output="")], limits=limits)]
    )
    assert judged.verdict == verdict


def test_the_total_time_and_the_first_failure_can_end_a_program(sandbox):
    code = "while True:\n    pass"
    tests = [Test(input="", output="")] * 3
    [judged] = sandbox.judge(
        [Submission(code=code, tests=tests, limits=Limits(time_s=0.2, total_time_s=0.3))]
    )
    assert [t.verdict for t in judged.tests] == ["TLE"] * 3
    assert judged.tests[2].time_s == 0
    [judged] = sandbox.judge(
        [Submission(code=code, tests=tests, limits=Limits(time_s=0.2), stop_on_fail=True)]
    )
    assert [t.verdict for t in judged.tests] == ["TLE", "NOT_RUN", "NOT_RUN"]


def test_checkers_of_the_submission_decide(sandbox):
    checker = (
        "def check(input, output, expected):\n"
        "    return sum(map(int, output.split())) == int(input)\n"
    )
    tests = [Test(input="7", output="7")]
    judged = sandbox.judge(
        Submission(code=code, tests=tests, checker_code=text)
        for code, text in (
            ("print(3, 4)", checker),
            ("print(3, 5)", checker),
            ("print('a')", checker),  # the checker stumbles over it
            ("print(3, 4)", "def check(*_): raise ValueError"),
        )
    )
    assert [j.verdict for j in judged] == ["AC", "WA", "WA", "SE"]


@pytest.mark.slow
def test_a_checker_without_an_expected_output_refuses_what_it_stumbles_over(sandbox):
    def judged(checker):
        [judgement] = sandbox.judge(
            [Submission(code="print('x')", tests=[Test(input="5")], checker_code=checker)]
        )
        return judgement

    stumbling = judged("def check(i, o, e):\n    return int(o) > int(i)")
    assert stumbling.verdict == "WA"
    assert "invalid literal for int()" in stumbling.tests[0].detail
    assert judged("def check(").verdict == "SE"


def test_a_checker_may_use_numpy(sandbox):
    pytest.importorskip("numpy")
    checker = "import numpy as np\ndef check(i, o, e):\n    return bool(np.isclose(float(o), 0.3))"
    [judged] = sandbox.judge(
        [Submission(code="print(0.1 + 0.2)", tests=[Test(input="")], checker_code=checker)]
    )
    assert judged.verdict == "AC"


@pytest.mark.slow
def test_threads_without_a_core_give_no_more_time_than_one_of_them(sandbox):
    code = (
        "import hashlib, threading, time\ndef work():\n"
        "    end = time.thread_time() + 0.03\n"
        "    while time.thread_time() < end: hashlib.sha256(b'x' * 10**6)\n"
        "threads = [threading.Thread(target=work) for _ in range(30)]\n"
        "for t in threads: t.start()\nfor t in threads: t.join()\ntime.sleep(100)"
    )
    [judged] = sandbox.judge(
        [Submission(code=code, tests=[Test(input="", output="")], limits=Limits(time_s=1.0))]
    )
    assert judged.verdict == "TLE"
    assert judged.tests[0].wall_s < 12


def test_a_checker_sees_the_value_of_a_function(sandbox):
    checker = "def check(input, output, expected):\n    return output == expected\n"
    judged = sandbox.judge(
        Submission(
            kind="function",
            code=f"def f(x): return {text}",
            entry_point="f",
            tests=[Test(input=[1], output={(1, 2): {3}})],
            checker_code=checker,
        )
        for text in ("{(1, 2): {3}}", "{(1, 2): {4}}", "object()", "{(): [].append}")
    )
    assert [j.verdict for j in judged] == ["AC", "WA", "WA", "WA"]


def test_what_is_not_plain_data_is_an_error_at_once(sandbox):
    with pytest.raises(ValueError, match="unmarshallable"):
        sandbox.submit(
            Submission(
                code="", kind="function", entry_point="f", tests=[Test(input=[object()], output=1)]
            )
        )


def test_runs_repeat_themselves_by_seed(sandbox):
    code = "import random\nprint(random.random(), hash('a'), list({'b', 'c', 'd'}))"

    def said(seed):
        [j] = sandbox.judge([Submission(code=code, tests=[Test(input="", output="")], seed=seed)])
        return j.tests[0].stdout_head

    assert said(1) == said(1) != said(2)


def _memory_groups():
    """The directory of memory control groups that this machine delegates to its root."""
    version_1 = Path("/sys/fs/cgroup/memory")
    controllers = Path("/sys/fs/cgroup/cgroup.subtree_control")
    if version_1.is_dir() and os.access(version_1 / "cgroup.procs", os.W_OK):
        return version_1
    is_ours = controllers.exists() and os.access(controllers, os.W_OK)
    if is_ours and "memory" in controllers.read_text():
        return controllers.parent
    pytest.skip("no directory of memory control groups is writable here")


@pytest.mark.slow
def test_a_judge_in_a_control_group_judges_and_leaves_no_group():
    groups = _memory_groups()
    with Sandbox(SandboxConfig(num_workers=1, cgroup=str(groups))) as own:
        own.judge([_echo(1)])
        [judge] = groups.glob(f"mgpo-sandbox-{os.getpid()}-*")
        assert len((judge / "cgroup.procs").read_text().split()) >= 2  # itself and a zygote
        large = Submission(
            code="print(len(b'x' * (700 << 20)))",
            tests=[Test(input="", output=str(700 << 20))],
            limits=Limits(memory_mb=1024),
        )
        assert [j.verdict for j in own.judge([_echo(1), large])] == ["AC", "AC"]
    assert list(groups.glob(f"mgpo-sandbox-{os.getpid()}-*")) == []


def test_a_directory_without_control_groups_is_refused(tmp_path):
    with pytest.raises(WeakSandboxError, match="no memory controller: write \\+memory into"):
        Sandbox(SandboxConfig(num_workers=1, cgroup=str(tmp_path)))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="at least 512, got 100"):
        SandboxConfig(cgroup_memory_mb=100)
