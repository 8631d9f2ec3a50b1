"""Many gradings at once, some of them hostile: none lost, none late, memory flat.

python benchmarks/reward_stress.py [--gradings 100000] [--threads 8]

Threads and an event loop share one KillablePool. Of the requests, --hostile per thousand are towers
of powers, factorials, a million nested braces, responses of 5 MB, NUL bytes and lone surrogates;
one in two thousand is by a grader that never ends, and is killed; the others repeat ordinary
answers in groups of 16. The figure is the latest answer over its deadline, queue excluded; exit
code 1 when an answer is missing, wrong or late, memory has grown by more than --grown-mib after the
first tenth, or the caller's SIGALRM handler or recursion limit was touched.
"""

import argparse
import asyncio
import signal
import sys
import threading
import time
from collections import Counter
from concurrent.futures import Future
from pathlib import Path

from rewards.killable_pool import KILL_GRACE_S, KillablePool
from rewards.types import Outcome, ScoreRequest

TIMEOUT_S = 3.0
_RESPAWN_S = 5.0
ORDINARY = (
    (r"\boxed{12}", "12", True),
    (r"\boxed{\frac{1}{2}}", "0.5", True),
    (r"\boxed{x(x+2)}", "x^2+2x", True),
    (r"\boxed{13}", "12", False),
    (r"\boxed{2\sin x\cos x}", r"\sin 2x", True),
    ("so it is 5 or 7", "7", False),
)
HOSTILE = (
    (r"\boxed{9^{9^{9^{9}}}}", "12"),
    (r"\boxed{(10^{6})!!!}", "12"),
    ("{" * 10**6, "12"),
    ("a b " * 1_250_000, "12"),
    ("\0\ud800 \\boxed{\0}", "12"),
    (r"\boxed{\sum_{k=1}^{10^{12}} \frac{1}{k^{3}+\sin k}}", r"\frac{1}{7}+\sin 3"),
    (r"\boxed{\binom{10^{9}}{5\cdot 10^{8}}}", "12"),
)


def endless(response: str, reference: object, **_: object) -> bool:
    """A grader that only a kill ends."""
    while True:
        time.sleep(1)


def main() -> int:
    """Prints what came of it."""
    args = _parse_args()
    handler, limit = signal.getsignal(signal.SIGALRM), sys.getrecursionlimit()
    pool = KillablePool(args.processes, TIMEOUT_S, 1.0)
    run = _Run(pool, args.gradings, args.hostile)
    start = time.monotonic()
    workers = [
        threading.Thread(target=run.from_thread, args=(first, args.threads + 1))
        for first in range(args.threads)
    ]
    for worker in workers:
        worker.start()
    asyncio.run(run.from_loop(args.threads, args.threads + 1))
    for worker in workers:
        worker.join()
    seconds = time.monotonic() - start
    pool.close()
    grown = _resident_mib() - run.early_mib
    is_untouched = (signal.getsignal(signal.SIGALRM), sys.getrecursionlimit()) == (handler, limit)
    late = run.latest_s / (TIMEOUT_S + KILL_GRACE_S + _RESPAWN_S)
    print(
        f"{sum(run.seen.values())} of {args.gradings} graded in {seconds:.0f} s "
        f"({args.gradings / seconds:.0f}/s, {args.threads} threads and a loop): {dict(run.seen)}\n"
        f"wrong verdicts {run.num_wrong}; memory +{grown:.1f} MiB; "
        f"signal handler and recursion limit {'untouched' if is_untouched else 'CHANGED'}\n"
        f"latest / its deadline = {late:.2f} ({run.latest_s:.1f} s)"
    )
    is_whole = sum(run.seen.values()) == args.gradings and not run.num_wrong
    return 0 if is_whole and is_untouched and late <= 1 and grown < args.grown_mib else 1


def _parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gradings", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--hostile", type=int, default=10, help="per thousand")
    parser.add_argument("--grown-mib", type=float, default=50.0)
    return parser.parse_args()


class _Run:
    """The requests by number, and what came of them."""

    def __init__(self, pool: KillablePool, num_gradings: int, hostile_per_mille: int) -> None:
        self._pool = pool
        self._num_gradings = num_gradings
        self._hostile = hostile_per_mille
        self._lock = threading.Lock()
        self.seen: Counter[str] = Counter()
        self.num_wrong = 0
        self.latest_s = 0.0
        self.early_mib = 0.0

    def _request(self, number: int) -> tuple[ScoreRequest, bool | None]:
        if number % 2000 == 1000:
            return ScoreRequest(reward="reward_stress:endless", response="", reference=""), None
        if number % 1000 < self._hostile:
            response, reference = HOSTILE[number // 1000 % len(HOSTILE)]
            expected = None
        else:
            response, reference, expected = ORDINARY[number // 16 % len(ORDINARY)]
        request = ScoreRequest(reward="math", response=response, reference=reference)
        return request, expected

    def from_thread(self, first: int, step: int) -> None:
        """Grade every `step`-th request, one after the other."""
        for number in range(first, self._num_gradings, step):
            request, expected = self._request(number)
            self._take(self._pool.submit(request).result(), expected)

    async def from_loop(self, first: int, step: int) -> None:
        """Grade every `step`-th request, sixteen at a time."""
        numbers = range(first, self._num_gradings, step)
        for begin in range(0, len(numbers), 16):
            asked: list[tuple[Future[Outcome], bool | None]] = []
            for number in numbers[begin : begin + 16]:
                request, expected = self._request(number)
                asked.append((self._pool.submit(request), expected))
            outcomes = await asyncio.gather(*(asyncio.wrap_future(future) for future, _ in asked))
            for outcome, (_, expected) in zip(outcomes, asked, strict=True):
                self._take(outcome, expected)

    def _take(self, outcome: Outcome, expected: bool | None) -> None:
        is_wrong = outcome.correct != bool(expected) or (
            expected is not None and not outcome.is_valid
        )
        with self._lock:
            self.seen[outcome.word] += 1
            self.num_wrong += is_wrong
            self.latest_s = max(self.latest_s, outcome.time_s)
            if sum(self.seen.values()) == self._num_gradings // 10:
                self.early_mib = _resident_mib()


def _resident_mib() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


if __name__ == "__main__":
    sys.exit(main())
