"""Scripted engines with one rare fault each, for tests of the pool's recovery."""

import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from fake_engines import ScriptedEngine

from mgpo.rollout.engine import GenerationRequest
from mgpo.types import Completion

Groups = AsyncIterator[tuple[int, tuple[Completion, ...]]]


class NamingEngine(ScriptedEngine):
    """Puts the dispatch's name into the text of each completion."""

    async def generate(self, dispatch_id: str, requests: Sequence[GenerationRequest]) -> Groups:
        async for index, completions in super().generate(dispatch_id, requests):
            yield index, tuple(replace(done, text=dispatch_id) for done in completions)


class RefusingEngine(ScriptedEngine):
    """Refuses every request."""

    async def generate(self, dispatch_id: str, requests: Sequence[GenerationRequest]) -> Groups:
        raise ValueError("prompt is too long")
        yield


class BadStartEngine(ScriptedEngine):
    """The first process dies when asked to generate, the second while it starts."""

    async def start(self) -> None:
        starts = self._folder / "starts"
        self._num_before = len(starts.read_text()) if starts.exists() else 0
        starts.write_text("x" * (self._num_before + 1))
        if self._num_before == 1:
            os._exit(1)

    async def generate(self, dispatch_id: str, requests: Sequence[GenerationRequest]) -> Groups:
        if self._num_before == 0:
            os._exit(1)
        async for group in super().generate(dispatch_id, requests):
            yield group
