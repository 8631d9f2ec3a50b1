"""Graders that misbehave, named by dotted path."""

import asyncio
import contextlib
import os
import signal
import threading
import time

from rewards.types import Outcome


def slow(response: str, reference: object, **_: object) -> bool:
    time.sleep(float(response))
    return True


def crashing(response: str, reference: object, **_: object) -> bool:
    if response == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    return True


def raising(response: str, reference: object, **_: object) -> bool:
    raise KeyError(f"no entry for {response}")


def graded(response: str, reference: object, **_: object) -> float:
    return float(response)


def fixed(response: str, reference: object, **_: object) -> float:
    return float(reference)  # type: ignore[arg-type]


def plain(response: str, reference: object) -> bool:
    return response == reference


def noisy(response: str, reference: object, **_: object) -> bool:
    print("stray output must not reach the protocol", flush=True)
    os.write(1, b"\x80\x04 nor this")
    return response == reference


def strange(response: str, reference: object, **_: object) -> str:
    return "yes"


def echo_fields(response: str, reference: object, level: int = 0, **_: object) -> bool:
    return level == 7


def hungry(response: str, reference: object, **_: object) -> bool:
    return len(bytearray(8 * 2**30)) > 0


def stopping(response: str, reference: object, **_: object) -> bool:
    """Answer, then stop this process for good."""
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGSTOP)).start()
    return True


def unreadable(response: str, reference: object, **_: object) -> Outcome:
    return Outcome(status="ok", reason=OddError("a", "b"))  # type: ignore[arg-type]


async def patient(response: str, reference: object, **_: object) -> bool:
    await asyncio.sleep(float(response))
    return True


async def stubborn(response: str, reference: object, **_: object) -> bool:
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(60)
    await asyncio.sleep(60)
    return True


async def own_timeout(response: str, reference: object, **_: object) -> bool:
    raise TimeoutError("the judge did not answer")


def pid(response: str, reference: object, **_: object) -> float:
    return float(os.getpid())


class OddError(Exception):
    def __init__(self, first: str, second: str) -> None:
        super().__init__(first)


def unpicklable(response: str, reference: object, **_: object) -> Outcome:
    return Outcome(status="ok", correct=True, value=1.0, detail={"problem": OddError("a", "b")})


def nan_outcome(response: str, reference: object, **_: object) -> Outcome:
    return Outcome(status="ok", correct=True, value=float("nan"))


def liar(response: str, reference: object, **_: object) -> bool:
    return True


_calls_of_spoilt = []


def spoilt(response: str, reference: object, **_: object) -> bool:
    """Right at first, then it finds everything right."""
    _calls_of_spoilt.append(response)
    return response == "right" or len(_calls_of_spoilt) > 5


spoilt.self_test = [("right", "x", True), ("wrong", "x", False)]


liar.self_test = [("right", "x", True), ("wrong", "x", False)]
