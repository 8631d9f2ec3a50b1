"""Steps of supervised training: every row as often as it should be, budgets kept, order pure."""

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from mgpo.config.data import DataConfig
from mgpo.config.errors import ConfigError
from mgpo.config.model import ModelConfig
from mgpo.config.run import RunConfig
from mgpo.config.sft import SftTaskConfig
from mgpo.config.training import SftConfig
from mgpo.data.chat import SftExample
from mgpo.data.sampler import prompt_indices
from mgpo.data.sft_batches import SftBatches, plan_sft_batches


def _examples(lengths: list[int]) -> list[SftExample]:
    return [
        SftExample(id=f"r{index}", token_ids=(7,) * length, prompt_len=1)
        for index, length in enumerate(lengths)
    ]


def _plan(
    lengths: list[int],
    *,
    seed: int = 0,
    steps: int | None = None,
    epochs: int | None = None,
    samples: int | None = None,
    tokens: int | None = None,
) -> SftBatches:
    config = SftConfig(
        steps=steps,
        epochs=epochs,
        run=RunConfig(name="x", seed=seed),
        model=ModelConfig(path="m"),
        data=DataConfig(train="t.jsonl"),
        sft=SftTaskConfig(samples_per_step=samples, tokens_per_step=tokens),
    )
    return plan_sft_batches(_examples(lengths), config)


def _ids(batches: SftBatches) -> list[list[str]]:
    return [[row.id for row in batches.of_step(step)] for step in range(batches.num_steps)]


def _cases() -> Iterator[tuple[list[int], int, int, dict[str, int]]]:
    """Lengths, seed, epochs, and the size of a batch in rows or tokens."""
    rng = random.Random(0)
    for _ in range(200):
        lengths = [rng.randint(2, 40) for _ in range(rng.randint(1, 30))]
        sizes = {"samples": rng.randint(1, 40)}, {"tokens": rng.randint(max(lengths), 200)}
        yield lengths, rng.randint(0, 5), rng.randint(1, 4), rng.choice(sizes)


def test_epochs_take_every_row_exactly_so_often() -> None:
    for lengths, seed, epochs, size in _cases():
        batches = _plan(lengths, seed=seed, epochs=epochs, **size)
        taken = Counter(row for step in _ids(batches) for row in step)
        assert taken == {f"r{index}": epochs for index in range(len(lengths))}
        assert batches.num_epochs == epochs
        assert batches.sizes == [len(step) for step in _ids(batches)]
        assert min(batches.sizes) >= 1


def test_only_the_last_step_of_rows_is_smaller() -> None:
    batches = _plan([3] * 10, epochs=3, samples=4)
    assert batches.sizes == [4] * 7 + [2]
    assert "10 rows, 3.00 epochs: 8 steps of 4 rows; the last takes 2" in batches.summary()


def test_a_step_of_tokens_is_full_and_never_more() -> None:
    """Full: the next row would not have fitted."""
    for lengths, seed, epochs, size in _cases():
        if "tokens" not in size:
            continue
        batches = _plan(lengths, seed=seed, epochs=epochs, **size)
        steps = [batches.of_step(step) for step in range(batches.num_steps)]
        filled = [sum(len(row.token_ids) for row in step) for step in steps]
        assert max(filled) <= size["tokens"]
        for tokens, following in zip(filled, steps[1:], strict=False):
            assert tokens + len(following[0].token_ids) > size["tokens"]


def test_steps_and_epochs_share_one_order() -> None:
    """A run stopped after some steps has taken what the whole run takes in them."""
    for lengths, seed, epochs, size in _cases():
        whole = _plan(lengths, seed=seed, epochs=epochs, **size)
        steps = whole.num_steps - 1
        if steps:
            assert _ids(_plan(lengths, seed=seed, steps=steps, **size)) == _ids(whole)[:-1]


def test_the_order_is_that_of_the_shuffled_epochs() -> None:
    batches = _plan([3] * 10, seed=5, steps=6, samples=4)
    expected = [[f"r{index}" for index in prompt_indices(10, 4, 5, step)] for step in range(6)]
    assert _ids(batches) == expected


def test_a_step_of_tokens_by_hand() -> None:
    order = prompt_indices(4, 4, 0, 0) + prompt_indices(4, 4, 0, 1)
    lengths = [10, 20, 30, 40]
    expected: list[list[str]] = [[]]
    room = 50
    for index in order:
        if lengths[index] > room:
            expected.append([])
            room = 50
        expected[-1].append(f"r{index}")
        room -= lengths[index]
    assert _ids(_plan(lengths, epochs=2, tokens=50)) == expected


def test_steps_beyond_the_data_go_on_with_further_epochs() -> None:
    batches = _plan([10, 20, 30], steps=9, tokens=60)
    assert batches.num_steps == 9
    assert batches.num_epochs == pytest.approx(batches.starts[-1] / 3)


def test_a_row_longer_than_a_step_is_named() -> None:
    with pytest.raises(ConfigError, match=r"sft\.tokens_per_step=39 is too small: row r1 has 40"):
        _plan([10, 40], epochs=1, tokens=39)


def test_a_step_larger_than_the_data_is_said() -> None:
    assert (
        "more than there are: a step repeats rows" in _plan([3] * 5, steps=2, samples=8).summary()
    )


def test_a_checkpoint_at_another_position_is_refused() -> None:
    """One epoch ended with a smaller step; a second one would leave out two rows of it."""
    one, two = (_plan([3] * 10, epochs=epochs, samples=4) for epochs in (1, 2))
    one.refuse_other_position(3, one.starts[3])
    two.refuse_other_position(2, one.starts[2])
    two.refuse_other_position(3, None)
    with pytest.raises(ConfigError, match=r"step 3 had taken 10 rows, but .* steps take 12"):
        two.refuse_other_position(3, one.starts[3])
