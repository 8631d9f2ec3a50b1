"""Functions written for TRL and verl, run by name in grading processes as they are."""

import shutil

import foreign_rewards
import pytest

from rewards.killable_pool import KillablePool
from rewards.registry import resolve, self_test_items, takes_token_ids
from rewards.types import ScoreRequest


@pytest.fixture(scope="module")
def pool():
    pool = KillablePool(num_processes=1, timeout_s=10.0, correct_threshold=1.0)
    yield pool
    pool.close()


def grade(pool, name, response, reference="", **fields):
    request = ScoreRequest(reward=name, response=response, reference=reference, fields=fields)
    return pool.submit(request).result(timeout=60)


def test_a_conversational_function_of_trl_gets_messages_and_the_reference(pool):
    name = "trl_chat:foreign_rewards.accuracy_reward"
    right, wrong = grade(pool, name, "it is 12", "12"), grade(pool, name, "it is 13", "12")
    assert (right.word, right.value, right.is_graded) == ("correct", 1.0, True)
    assert (wrong.word, wrong.value) == ("wrong", 0.0)


def test_none_means_no_verdict_and_never_zero(pool):
    outcome = grade(pool, "trl_chat:foreign_rewards.accuracy_reward", "it is 12", {"solution": ""})
    assert (outcome.word, outcome.reason) == ("error", "skipped")


def test_a_plain_function_of_trl_gets_strings(pool):
    assert grade(pool, "trl:foreign_rewards.length_reward", "four").value == -4.0
    assert grade(pool, "trl:foreign_rewards:async_reward", "four").value == 4.0
    assert grade(pool, "trl:foreign_rewards.own_event_loop", "four").value == 4.0


def test_columns_come_from_the_row(pool):
    name = "trl:foreign_rewards.two_columns"
    assert grade(pool, name, "it is 12", "12", level=2).value == 1.0
    assert grade(pool, name, "it is 12", "12", level=1).value == 0.0
    assert grade(pool, name, "it is 12", {"solution": "12", "level": 2}).value == 1.0
    assert grade(pool, "trl:foreign_rewards.keyword_column", "it is 12", "12").value == 1.0
    missing = grade(pool, name, "it is 12", "12")
    assert (missing.word, missing.reason) == ("error", "exception")
    assert "needs level and solution: add all but one" in missing.detail["exception"]


def test_the_prompt_is_the_field_problem(pool):
    name = "trl:foreign_rewards.follows_prompt"
    assert grade(pool, name, "say hello", problem="hello").value == 1.0
    assert grade(pool, name, "say hello", problem="bye").value == 0.0
    assert "needs prompts" in grade(pool, name, "say hello").detail["exception"]
    chat = "trl_chat:foreign_rewards.follows_chat"
    assert grade(pool, chat, "say hello", problem="hello").word == "correct"
    assert grade(pool, chat, "say hello", problem="bye").word == "wrong"


def test_a_function_of_trl_gets_only_what_it_takes(pool):
    name = "trl:foreign_rewards.two_columns"
    assert grade(pool, name, "it is 12", "12", level=2, problem="?", topic="sums").value == 1.0
    name = "trl:foreign_rewards.all_of_the_batch"
    assert grade(pool, name, "four", problem="?", completion_ids=[7, 8, 9]).value == 3.0
    assert grade(pool, name, "four", problem="?", completion_ids=[7]).value == 1.0
    without = grade(pool, name, "four", problem="?")
    assert "needs completion_ids: training gives them" in without.detail["exception"]
    only_trl = grade(pool, "trl:foreign_rewards.logs", "four")
    assert "needs log_metric: only TRL's trainer" in only_trl.detail["exception"]
    columns = {"solution": "12", "level": 2, "completions": "of another policy"}
    assert grade(pool, "trl:foreign_rewards.two_columns", "it is 12", columns).value == 1.0


def test_ids_are_sent_to_functions_that_name_them_and_to_no_other():
    assert takes_token_ids("trl:foreign_rewards.all_of_the_batch")
    assert takes_token_ids("trl_chat:foreign_rewards:all_of_the_batch")
    assert not takes_token_ids("trl:foreign_rewards.length_reward")
    assert not takes_token_ids("math")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no_list", "wrong_type"),
        ("twice", "wrong_length"),
        ("no_entry", "wrong_length"),
        ("word", "wrong_type"),
        ("text", "wrong_type"),
        ("by_name", "wrong_type"),
        ("not_a_number", "not_finite"),
    ],
)
def test_what_is_no_reward_of_trl_is_an_error_that_shows_it(pool, name, reason):
    outcome = grade(pool, f"trl:foreign_rewards.{name}", "x")
    assert (outcome.word, outcome.reason) == ("error", reason)
    shown = getattr(foreign_rewards, name)(completions=["x"])
    if reason == "wrong_length":
        assert outcome.detail["returned"] == f"list: {shown!r}"
        assert "a list with one reward" in outcome.detail["allowed"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("trl:foreign_rewards.no_completions", "takes prompts, but .* TRL takes completions"),
        ("trl:foreign_rewards.by_position", "takes completions by position only"),
        ("verl:foreign_rewards.compute_nothing_from", "takes ground_truth, but .* solution_str"),
        ("verl:foreign_rewards.compute_batch", "takes .*solution_strs, but .* solution_str"),
    ],
)
def test_a_function_of_another_kind_is_refused_when_it_is_loaded(name, message):
    with pytest.raises(ValueError, match=f"reward '{name}': .*{message}"):
        resolve(name)


@pytest.mark.parametrize(
    "name", ["compute_two", "compute_bare", "compute_all", "compute_keyword_only", "Scorer"]
)
def test_a_function_of_verl_gets_only_what_it_takes(pool, name):
    for response, value in (("12", 1.0), ("13", 0.0)):
        fields = {"data_source": "sums", "problem": "?", "ability": "math"}
        outcome = grade(pool, f"verl:foreign_rewards.{name}", response, "12", **fields)
        assert (outcome.value, outcome.is_graded) == (value, True)


def test_further_parameters_of_verl_are_fields_of_the_row(pool):
    name = "verl:foreign_rewards.compute_scaled"
    assert grade(pool, name, "12", "12", scale=0.5).value == 0.5
    missing = grade(pool, name, "12", "12")
    assert "needs scale: add it to the row, or to reward.options" in missing.detail["exception"]
    assert grade(pool, "verl:foreign_rewards.compute_any", "12", "12", scale=0.5).value == 0.5


def test_a_bool_of_verl_is_a_verdict_and_extra_keys_are_detail(pool):
    right = grade(pool, "verl:foreign_rewards.compute_bool", "12", "12")
    assert (right.word, right.value, right.is_graded) == ("correct", 1.0, False)
    assert grade(pool, "verl:foreign_rewards.compute_bool", "13", "12").word == "wrong"
    assert grade(pool, "verl:foreign_rewards.compute_numpy_bool", "13", "12").word == "wrong"
    graded = grade(pool, "verl:foreign_rewards.compute_graded", "12", "12")
    assert graded.detail == {"acc": 0.5, "format": "boxed"}


@pytest.mark.parametrize("what", ["None", "[1.0]", "(1.0, {})", "'1.0'", "{'score': None}"])
def test_what_is_no_score_of_verl_is_an_error_that_shows_it(pool, what):
    outcome = grade(pool, "verl:foreign_rewards.compute_literal", what)
    assert (outcome.word, outcome.reason) == ("error", "wrong_type")
    inner = "None" if "score" in what else what
    assert outcome.detail["returned"].endswith(f": {inner}")
    assert "a number or a bool" in outcome.detail["allowed"]


def test_a_function_of_verl_gets_its_own_arguments(pool):
    name = "verl:foreign_rewards.compute_score"
    right = grade(pool, name, "so #### 12", "12", data_source="gsm8k")
    assert (right.word, right.value, right.is_graded) == ("correct", 1.0, True)
    extra = {"floor": -0.5}
    wrong = grade(pool, name, "so #### 13", "12", data_source="gsm8k", extra_info=extra)
    assert (wrong.word, wrong.value) == ("wrong", -0.5)
    assert grade(pool, name, "so #### 12", "12").reason == "exception"


def test_the_acc_of_verl_is_the_verdict_and_its_score_the_value(pool):
    name = "verl:foreign_rewards.compute_dapo"
    right, wrong = grade(pool, name, "12", "12"), grade(pool, name, "13", "12")
    assert (right.word, right.value, right.is_graded) == ("correct", 1.0, False)
    assert (wrong.word, wrong.value, wrong.detail) == ("wrong", -1.0, {"pred": "13"})
    graded = grade(pool, "verl:foreign_rewards.compute_graded", "12", "12")
    assert (graded.word, graded.value, graded.is_graded) == ("wrong", 0.25, True)
    assert grade(pool, "verl:foreign_rewards.compute_async", "12", "12").value == 1.0
    assert grade(pool, "verl:foreign_rewards.compute_nothing", "12", "12").reason == "no_score"


def test_a_function_is_found_in_a_file(pool, tmp_path):
    path = tmp_path / "somewhere" / "my_rewards.py"
    path.parent.mkdir()
    shutil.copy(foreign_rewards.__file__, path)
    assert grade(pool, f"verl:{path}:compute_dapo", "12", "12").value == 1.0
    assert grade(pool, f"trl:{path}:length_reward", "four").value == -4.0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("trl:foreign_rewards.absent", "absent"),
        ("trl:absent", "unknown reward 'absent'"),
        ("verl:/nowhere/file.py:compute_score", "there is no file /nowhere/file.py"),
        ("trl", "unknown reward 'trl'.*trl:PATH"),
    ],
)
def test_an_adapted_name_that_stands_for_nothing_says_so(name, message):
    with pytest.raises(ValueError, match=message):
        resolve(name)


def test_a_file_that_fails_is_imported_anew(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("raise ImportError('half written')")
    with pytest.raises(ValueError, match="half written"):
        resolve(f"{path}:grade")
    path.write_text("def grade(response, reference): return True\nSELF_TEST = [('a', 'b', True)]")
    assert resolve(f"{path}:grade")("a", "b") is True
    assert self_test_items(f"{path}:grade") == [("a", "b", True)]
