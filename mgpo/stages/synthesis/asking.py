"""Asks models what is not on disk yet: a chat server, or engines of our own."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Protocol

from tqdm import tqdm

from mgpo.cluster import start_cluster
from mgpo.config.errors import DataError, UserError
from mgpo.config.stage import SamplingStageConfig
from mgpo.config.synthesize import PricedServerConfig, RoleConfig, SynthesizeConfig
from mgpo.data.rows import Row
from mgpo.rollout.chat_client import ChatAnswer, ChatClient, ChatFailure
from mgpo.rollout.engine import GenerationRequest, SamplingParams
from mgpo.stages.sampler import encode_tasks, open_engines
from mgpo.stages.synthesis.call_store import Call, CallStore, distinct

logger = logging.getLogger(__name__)

_MAX_FAILURES_IN_A_ROW = 3
"""Of one of the lanes in which a server is asked; then it is given up."""


class Asker(Protocol):
    """Answers calls and puts the answers into the store."""

    def ask(self, calls: Sequence[Call], progress: tqdm) -> list[str]:
        """Return why calls failed, one text each. Raises UserError."""
        ...


class Models:
    """The models of a run; an engine of our own starts when it is first asked, and ends with
    `stack`."""

    def __init__(self, config: SynthesizeConfig, store: CallStore, stack: ExitStack) -> None:
        self._config = config
        self._store = store
        self._stack = stack
        self._engines: EngineAsker | None = None

    def ask_all(self, calls: Sequence[Call], role: RoleConfig) -> None:
        """Ask what the store lacks.

        Raises UserError when the budget is reached, or more calls fail than
        `role.max_failed_share` allows.
        """
        missing = distinct(call for call in calls if call not in self._store)
        logger.info("%s: %d calls, %d to be made", role.section, len(calls), len(missing))
        if not missing:
            return
        self._store.check_budget(self._config.budget)
        bar = tqdm(total=len(missing), desc=role.section, unit="call", disable=None)
        try:
            failures = self._asker(role).ask(missing, bar)
        finally:
            bar.close()
        if len(failures) > role.max_failed_share * len(missing):
            raise UserError(
                f"{role.section}: {len(failures)} of {len(missing)} calls failed, more than "
                f"{role.section}.max_failed_share={role.max_failed_share}; the same command tries "
                f"them again; the last: {failures[-1]}"
            )

    def _asker(self, role: RoleConfig) -> Asker:
        server = self._config.server_of(role)
        if server is not None:
            return ServerAsker(server, self._store, self._config)
        if self._engines is None:
            self._engines = EngineAsker(self._config, self._store, self._stack)
        return self._engines


class ServerAsker:
    """A chat server."""

    def __init__(
        self, server: PricedServerConfig, store: CallStore, config: SynthesizeConfig
    ) -> None:
        self._server = server
        self._store = store
        self._budget = config.budget
        self._wants_schemas = config.wants_schemas

    def ask(self, calls: Sequence[Call], progress: tqdm) -> list[str]:
        """Return why calls failed. Raises UserError."""
        return asyncio.run(self._ask(calls, progress))

    async def _ask(self, calls: Sequence[Call], progress: tqdm) -> list[str]:
        failures: list[str] = []
        pending = iter(calls)
        num_lanes = min(self._server.max_concurrent_requests, len(calls))
        async with ChatClient(self._server) as client:
            lanes = [
                asyncio.create_task(self._work(client, pending, failures, progress))
                for _ in range(num_lanes)
            ]
            try:
                await asyncio.gather(*lanes)
            finally:
                for lane in lanes:
                    lane.cancel()
        self._store.check_budget(self._budget if any(True for _ in pending) else None)
        return failures

    async def _work(
        self, client: ChatClient, pending: Iterator[Call], failures: list[str], progress: tqdm
    ) -> None:
        """Make calls one after the other until there are none left, or no money."""
        failed_in_a_row = 0
        for call in pending:
            form = _response_format(call) if self._wants_schemas else None
            messages = [{"role": "user", "content": call.text}]
            try:
                answer = await client.complete(messages, call.sampling, call.seed, form)
            except ChatFailure as failure:
                failures.append(str(failure))
                failed_in_a_row += 1
                if failed_in_a_row >= _MAX_FAILURES_IN_A_ROW:
                    raise UserError(
                        f"{failed_in_a_row} calls in a row failed; the same command continues: "
                        f"{failure}"
                    ) from failure
            else:
                failed_in_a_row = 0
                self._store.add(call, answer, self._server)
            progress.update()
            if self._budget is not None and self._store.cost >= self._budget:
                return


def _response_format(call: Call) -> dict[str, object] | None:
    if call.schema is None:
        return None
    schema = {"name": "answer", "strict": True, "schema": call.schema}
    return {"type": "json_schema", "json_schema": schema}


class EngineAsker:
    """Engines of our own; they cannot be held to a schema, and cost nothing."""

    def __init__(self, config: SynthesizeConfig, store: CallStore, stack: ExitStack) -> None:
        self._store = store
        assert config.model is not None
        stage = SamplingStageConfig(
            run=config.run, dtype=config.dtype, rollout=config.rollout, reward=config.reward
        )
        self._tasks = encode_tasks(stage, config.model, [])
        cluster = stack.enter_context(start_cluster(config.run.device))
        self._rollouts = stack.enter_context(open_engines(stage, cluster, self._tasks))

    def ask(self, calls: Sequence[Call], progress: tqdm) -> list[str]:
        """Return why calls failed."""
        failures = []
        fitting: list[Call] = []
        requests = []
        for call in calls:
            request = self._request(call)
            if request is None:
                failures.append(f"a prompt that leaves no room in {self._tasks.context} tokens")
            else:
                fitting.append(call)
                requests.append(request)
        num_done = 0
        for index, completions in self._rollouts.generate(requests):
            completion = completions[0]
            answer = ChatAnswer(
                text=completion.text,
                num_tokens=len(completion.token_ids),
                finish_reason=completion.finish_reason,
                mean_logprob=None,
                prompt_tokens=len(requests[index].prompt_token_ids),
            )
            self._store.add(fitting[index], answer, None)
            num_done += 1
            progress.update()
        lost = len(requests) - num_done
        return failures + ["the engine did not generate it (see the log)"] * lost

    def _request(self, call: Call) -> GenerationRequest | None:
        row = Row(
            id=call.key,
            messages=({"role": "user", "content": call.text},),
            domain="",
            reward="",
            reference=None,
            fields={},
            where=f"call {call.key}",
        )
        try:
            prompt = self._tasks.encoder.encode_prompt(row)
        except DataError as error:
            raise UserError(str(error)) from error
        room = self._tasks.context - len(prompt.token_ids)
        if room < 1:
            return None
        sampling = call.sampling
        return GenerationRequest(
            prompt_id=call.key,
            prompt_token_ids=prompt.token_ids,
            seeds=(call.seed,),
            sampling=SamplingParams(
                temperature=sampling.temperature,
                top_p=sampling.top_p,
                top_k=sampling.top_k,
                min_p=0.0,
                max_completion_tokens=min(room, sampling.max_completion_tokens or room),
            ),
        )
