"""Prompt order and sample seeds."""

from itertools import product

from mgpo.data.sampler import prompt_indices, sample_seed


def _stream(num_rows: int, per_step: int, seed: int, num_steps: int) -> list[int]:
    return [
        index
        for step in range(num_steps)
        for index in prompt_indices(num_rows, per_step, seed, step)
    ]


def test_every_epoch_visits_each_row_once() -> None:
    stream = _stream(num_rows=10, per_step=4, seed=3, num_steps=15)
    for start in range(0, 60, 10):
        assert sorted(stream[start : start + 10]) == list(range(10))


def test_order_does_not_depend_on_the_step_size() -> None:
    assert _stream(12, 4, 7, 6) == _stream(12, 3, 7, 8) == _stream(12, 24, 7, 1)


def test_a_step_is_a_pure_function_of_seed_and_number() -> None:
    forwards = [prompt_indices(1000, 32, 1, step) for step in range(5)]
    backwards = [prompt_indices(1000, 32, 1, step) for step in reversed(range(5))]
    assert forwards == backwards[::-1]


def test_epochs_and_seeds_have_orders_of_their_own() -> None:
    first, second = (prompt_indices(100, 100, 0, step) for step in (0, 1))
    assert len({tuple(first), tuple(second), tuple(prompt_indices(100, 100, 1, 0))}) == 3
    assert first != list(range(100))


def test_a_row_repeats_within_a_step_only_at_the_border_of_epochs() -> None:
    for step in range(20):
        indices = prompt_indices(10, 4, 5, step)
        if step * 4 // 10 == (step * 4 + 3) // 10:
            assert len(set(indices)) == 4


def test_a_step_may_take_more_rows_than_there_are() -> None:
    counts = [prompt_indices(3, 7, 0, 0).count(row) for row in range(3)]
    assert sorted(counts) == [2, 2, 3]


def test_order_is_frozen() -> None:
    """A changed shuffle would silently change what a resumed run sees."""
    assert prompt_indices(8, 8, 0, 0) == [7, 1, 3, 6, 0, 4, 5, 2]


def test_seeds_are_frozen() -> None:
    assert sample_seed(0, 0, "a", 0, stream="train") == 7578649592385560690


def test_every_argument_changes_the_seed() -> None:
    seeds = {
        sample_seed(run, step, prompt, index, stream=stream)
        for run, step, prompt, index, stream in product(
            (0, 1), (0, 1), ("a", "b"), (0, 1), ("train", "eval")
        )
    }
    assert len(seeds) == 32


def test_seeds_fit_63_bits() -> None:
    seeds = [sample_seed(0, step, "a", 0, stream="train") for step in range(1000)]
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert max(seeds) > 2**62
