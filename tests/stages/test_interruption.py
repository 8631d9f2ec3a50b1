"""Signals are acted on where the state can be saved."""

import os
import signal
import threading
import time

import pytest

from mgpo.config.errors import Interrupted
from mgpo.stages.interruption import Interruption


def send(number):
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_outside_raises_at_once(number):
    with Interruption(), pytest.raises(Interrupted, match=signal.Signals(number).name):
        send(number)


def test_a_signal_inside_a_deferred_block_waits_for_its_end():
    done = []
    with Interruption() as interruption:
        with pytest.raises(Interrupted, match="SIGTERM"), interruption.deferred():
            send(signal.SIGTERM)
            done.append("block")
    assert done == ["block"]


def test_an_error_inside_a_deferred_block_is_not_hidden_by_the_signal():
    with Interruption() as interruption:
        with pytest.raises(ZeroDivisionError), interruption.deferred():
            send(signal.SIGTERM)
            _ = 1 / 0


def test_a_second_signal_stops_at_once():
    with Interruption() as interruption:
        with pytest.raises(KeyboardInterrupt), interruption.deferred():
            send(signal.SIGTERM)
            send(signal.SIGINT)


def test_the_callers_handlers_come_back():
    before = signal.getsignal(signal.SIGTERM)
    with Interruption():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.ray
@pytest.mark.usefixtures("ray_cluster")
def test_a_signal_ends_a_wait_for_ray_promptly():
    import ray

    @ray.remote(num_cpus=0)
    def sleep():
        time.sleep(60)

    threading.Timer(1.0, send, (signal.SIGTERM,)).start()
    started = time.monotonic()
    with Interruption(), pytest.raises(KeyboardInterrupt):
        ray.get(sleep.remote(), timeout=50)
    assert time.monotonic() - started < 20
