"""Ranges of the quality filters' settings: the key and what is allowed are named."""

from typing import Any

import pytest

from mgpo.config.quality import (
    CopiesConfig,
    HardRowsConfig,
    RepetitionConfig,
    ResponseConfig,
    StrataConfig,
)


@pytest.mark.parametrize(
    ("section", "values", "message"),
    [
        (ResponseConfig, {"min_words": -1}, "response.min_words must be at least 0, got -1"),
        (RepetitionConfig, {"min_loop_chars": 10}, "min_loop_chars must be at least 50, got 10"),
        (RepetitionConfig, {"min_listing_chars": 100}, "min_listing_chars must be at least 150"),
        (RepetitionConfig, {"min_loop_repeats": 1.5}, "min_loop_repeats must be at least 2"),
        (RepetitionConfig, {"max_ngram_share": 1.2}, "max_ngram_share must be from 0 to 1"),
        (CopiesConfig, {"opening_words": 2}, "copies.opening_words must be at least 5, got 2"),
        (CopiesConfig, {"max_similarity": -0.1}, "max_similarity must be from 0 to 1, got -0.1"),
        (StrataConfig, {"difficulty_edges": [0.5, 0.5]}, "difficulty_edges must rise, got"),
        (StrataConfig, {"length_shares": [1, 2]}, "strata.num_rows, which is not set; set it"),
        (
            StrataConfig,
            {"num_rows": 9, "length_shares": [1, 2]},
            "length_shares must have a weight for each of the 4 strata, got",
        ),
        (
            StrataConfig,
            {"num_rows": 9, "difficulty_shares": [0, 0, 0, 0]},
            "difficulty_shares must be at least 0 and not all 0",
        ),
        (HardRowsConfig, {"min_error_rate": 1.1}, "min_error_rate must be from 0 to 1, got 1.1"),
        (HardRowsConfig, {"min_response_tokens": 0}, "min_response_tokens must be at least 1"),
    ],
)
def test_a_value_out_of_range_names_its_key(
    section: type, values: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=r"^filters\.") as caught:
        section(**values)
    assert message in str(caught.value)
