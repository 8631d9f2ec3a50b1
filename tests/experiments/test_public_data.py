"""Rows of public data sets become rows that the stages read. The sets themselves are not here."""

import json
from collections import Counter

import public_rows
import pytest

from experiments.public_data import converters
from experiments.public_data.prepare_data import is_held_out, prepare
from experiments.public_data.sets import FILES, SOURCES
from mgpo.config.data import RowsConfig
from mgpo.config.errors import DataError
from mgpo.data.compared_texts import evaluation_rows, training_texts
from mgpo.data.decontamination import EvaluationIndex
from mgpo.data.inputs import check_rewards
from mgpo.data.rows import load_rows, load_sft_rows
from mgpo.data.sources import read_records
from rewards.config import RewardConfig

SUBDOMAINS = {
    "algebra": "Mathematics -> Algebra -> Abstract Algebra -> Group Theory",
    "geometry": "Mathematics -> Geometry -> Plane Geometry -> Triangulations",
    "calculus": "Mathematics -> Calculus -> Integral Calculus -> Single-variable",
    "statistics": "Mathematics -> Applied Mathematics -> Statistics -> Probability -> Other",
}


def test_each_solution_of_a_problem_is_a_trace_of_its_own():
    first, second = converters.deepmath_traces(public_rows.deepmath(7), "d-1")
    assert (first["id"], second["id"]) == ("d-1-1", "d-1-2")
    assert first["prompt"] == second["prompt"] == "Compute $7 + 1$." + converters.BOXED
    assert first["reference"] == "8"
    assert first["response"].endswith("\\boxed{8}")


@pytest.mark.parametrize(("subdomain", "topic"), SUBDOMAINS.items())
def test_topics_fall_into_the_four_subdomains(subdomain, topic):
    assert converters.subdomain_of(topic) == subdomain


def test_other_topics_fall_into_none():
    assert converters.subdomain_of("Mathematics -> Number Theory -> Prime Numbers") is None
    assert converters.subdomain_of("Mathematics -> Linear Algebra") is None


def test_a_conversation_is_context_and_a_last_answer():
    [row] = converters.chat(public_rows.conversation(), "c")
    assert [turn["role"] for turn in row["prompt"]] == ["system", "user", "assistant", "user"]
    assert row["response"] == "A program."
    unanswered = {"messages": public_rows.conversation()["messages"][:-1]}
    assert converters.chat(unanswered, "c") == []


def test_mathematical_prompts_lose_the_instruction_of_their_set():
    [row] = converters.dapo_math(public_rows.dapo("What is 2+2?", "4"), "p")
    assert row["prompt"] == "What is 2+2?" + converters.BOXED
    assert row["reference"] == "4"
    other = {**public_rows.dapo("x", "1"), "prompt": [{"content": "What is 2+2?"}]}
    with pytest.raises(ValueError, match="instruction around the problem"):
        converters.dapo_math(other, "p")


def test_a_problem_without_an_answer_is_left_out():
    row = {"problem": "Prove it.", "answer": " ", "solution": ""}
    assert converters.deepscaler(row, "d") == []
    assert converters.deepscaler({**row, "answer": None}, "d") == []
    assert converters.deepscaler({**row, "answer": "1"}, "d")[0]["reference"] == "1"


@pytest.mark.parametrize("row", [public_rows.primeintellect("Add."), public_rows.taco("Add.")])
def test_programs_are_judged_by_what_they_print(row):
    [ours] = converters.deepcoder(row, "c")
    assert ours["reference"] == {"kind": "stdin", "tests": [{"input": "2 3\n", "output": "5\n"}]}


@pytest.mark.parametrize(
    "row",
    [
        public_rows.primeintellect("Add.", fn_name="add", type="function_call"),
        public_rows.taco("Add.", fn_name="add"),
        {"problem": "Add.", "tests": "[]"},
    ],
)
def test_functions_of_deepcoder_are_left_out(row):
    assert converters.deepcoder(row, "c") == []


def test_functions_are_older_than_livecodebench():
    [row] = converters.leetcode(public_rows.leetcode("2022-03-01"), "l")
    assert row["reference"]["entry_point"] == "Solution().double"
    assert "class Solution" in row["prompt"]
    assert converters.leetcode(public_rows.leetcode("2023-05-01"), "l") == []


def test_questions_of_science_are_hard_and_no_mathematics():
    [row] = converters.web_instruct(public_rows.web_instruct(), "w")
    assert row["reference"] == {"answer": "2.0 m/s"}
    for more in ({"category": "Mathematics"}, {"difficulty": "Primary School"}):
        assert converters.web_instruct(public_rows.web_instruct(**more), "w") == []


def test_the_place_of_the_right_option_varies():
    rows = [converters.sciq(public_rows.sciq(), f"sciq-{number}")[0] for number in range(40)]
    for row in rows:
        reference = row["reference"]
        assert reference["options"][reference["answer"]] == "mitochondrion"
        assert f"({reference['answer']}) mitochondrion" in row["prompt"]
    places = Counter(row["reference"]["answer"] for row in rows)
    assert set(places) == set("ABCD")


def test_constraints_keep_their_ids_and_lose_their_nulls():
    [row] = converters.if_constraints(public_rows.constrained(), "i")
    assert row["reference"]["constraints"] == [
        {"id": "punctuation:no_comma", "kwargs": {}},
        {
            "id": "length_constraints:number_words",
            "kwargs": {"relation": "at least", "num_words": 20},
        },
    ]


def test_open_questions_are_judged_by_a_rubric():
    [short] = converters.open_ended(public_rows.no_robots(), "n")
    [long] = converters.long_context(public_rows.thoughts("A long document ..."), "n")
    assert short["reward"] == long["reward"] == "rubric"
    assert {item["id"] for item in short["reference"]["rubric"]} == {
        "helpful",
        "adherent",
        "coherent",
        "concise",
    }


@pytest.mark.parametrize(
    "instruction",
    [
        converters.BOXED,
        converters.ANSWER,
        converters.OPTION,
        converters.PROGRAM,
        converters.FUNCTION,
    ],
)
def test_held_out_texts_do_not_have_our_instructions(instruction):
    assert converters.without_instruction("The problem." + instruction) == "The problem."


def test_every_file_is_written_with_rows_that_the_stages_read(prepared):
    for name in FILES:
        path = str(prepared / name)
        if name.startswith("sft"):
            assert load_sft_rows(path, RowsConfig())
        elif name.startswith(("rl", "heldout")) and not FILES[name].is_text:
            rows = load_rows(path, RowsConfig())
            check_rewards(rows, RewardConfig())
            assert rows
        else:
            assert _read(prepared / name)


def test_nothing_that_is_held_out_is_trained_on(prepared):
    held_out = {row["prompt"] for row in _read(prepared / "heldout_texts.jsonl")}
    for name in ("sft.jsonl", "sft_math_code.jsonl", "rl_code.jsonl", "rl_stem.jsonl"):
        trained = {converters.without_instruction(row["prompt"]) for row in _read(prepared / name)}
        assert trained
        assert not trained & held_out
    for row in _read(prepared / "heldout_math.jsonl"):
        assert is_held_out(row)
        assert row["subdomain"] in SUBDOMAINS


def test_our_instructions_are_no_overlap_with_what_is_held_out(prepared):
    index = EvaluationIndex(evaluation_rows([str(prepared / "heldout_texts.jsonl")]), 10)
    for name in ("sft.jsonl", "rl_code.jsonl"):
        texts = [training_texts(record) for record in read_records(str(prepared / name))]
        assert texts
        assert not any(index.overlaps(texts))
    instructed = EvaluationIndex(evaluation_rows([str(prepared / "heldout_math.jsonl")]), 10)
    traces = [training_texts(record) for record in read_records(str(prepared / "rl_math.jsonl"))]
    assert all(instructed.overlaps(traces))  # what would happen with them


def test_each_subdomain_has_its_own_probing_set(prepared):
    for name in SUBDOMAINS:
        rows = _read(prepared / f"heldout_{name}.jsonl")
        assert {row["subdomain"] for row in rows} == {name}


def test_a_repeated_prompt_stands_there_once(prepared):
    prompts = [row["prompt"] for row in _read(prepared / "rl_math.jsonl")]
    assert prompts.count("What is 2+2?" + converters.BOXED) == 1


def test_what_became_of_each_row_is_counted(tmp_path):
    rows = [
        public_rows.constrained(),
        public_rows.constrained(1, "words:unknown_to_us"),
        public_rows.constrained(2),
    ]
    counts = prepare(tmp_path, ["rl_instruct.jsonl"], _reader(norobots=[], **{"if": rows}), len)
    assert counts["if"] == {"read": 3, "cannot be graded": 1, "-> rl_instruct.jsonl": 2}


def test_long_rows_are_left_out(tmp_path):
    long = public_rows.deepmath(1)
    long["r1_solution_1"] = "x" * 70_000
    counts = prepare(
        tmp_path, ["sft.jsonl"], _reader(deepmath=[long]), lambda text: 65_001 * (len(text) > 9000)
    )
    assert counts["deepmath"] == {"read": 1, "too long for sft.jsonl": 1, "-> sft.jsonl": 1}


def test_another_layout_stops_it_and_leaves_no_file(tmp_path):
    with pytest.raises(DataError, match=r"DeepMath-103K, row 2: .*KeyError.*columns question"):
        prepare(
            tmp_path,
            ["sft.jsonl"],
            _reader(deepmath=[public_rows.deepmath(1), {"question": "x"}]),
            len,
        )
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_rows_is_an_error(tmp_path):
    with pytest.raises(DataError, match=r"no row for rl_math\.jsonl"):
        prepare(tmp_path, ["rl_math.jsonl"], _reader(deepscaler=[], dapo=[]), len)
    assert list(tmp_path.iterdir()) == []


def test_a_trial_takes_the_first_rows(tmp_path):
    rows = [public_rows.deepmath(number) for number in range(5, 25)]
    counts = prepare(tmp_path, ["sft_math_code.jsonl"], _reader(deepmath=rows), len, limit=2)
    assert counts["deepmath"]["read"] == 2


def test_benchmarks_that_training_data_is_held_against_stay_whole(tmp_path):
    texts = [{"question_content": f"Problem {number}."} for number in range(_MANY)]
    counts = prepare(tmp_path, ["livecodebench_texts.jsonl"], _reader(livecodebench=texts), len)
    assert counts["livecodebench"]["-> livecodebench_texts.jsonl"] == _MANY


def test_a_problem_without_a_reference_is_left_out(tmp_path):
    rows = [public_rows.deepmath(3), {**public_rows.deepmath(4), "final_answer": ""}]
    counts = prepare(tmp_path, ["sft_math_code.jsonl"], _reader(deepmath=rows), len)
    assert counts["deepmath"]["no answer"] == 2
    assert counts["deepmath"]["-> sft_math_code.jsonl"] == 2


def _reader(**given):
    def read(source):
        return given.get(source.name, _ROWS[source.name])

    return read


def _read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    output = tmp_path_factory.mktemp("public_data")
    prepare(output, list(FILES), _reader(), lambda text: len(text.split()))
    return output


# Enough of those of which one in a hundred is held out.
_MANY = 600
_DEEPMATH = [
    public_rows.deepmath(number, topic) for number in range(_MANY) for topic in SUBDOMAINS.values()
]
_ROWS = {
    "deepmath": [public_rows.deepmath(number) for number in range(_MANY)],
    "deepmath-problem": [
        {**row, "question": f"{row['question']} {row['topic'][15:22]}"} for row in _DEEPMATH
    ],
    "thoughts-code": [public_rows.thoughts("Print 1.")],
    "thoughts-science": [public_rows.thoughts("Why is the sky blue?")],
    "smoltalk": [public_rows.conversation()],
    "personas": [
        {"id": "p", "prompt": "Hi", **public_rows.thoughts("Hi"), "constraints": ["format:title"]}
    ],
    "deepscaler": [{"problem": "What is 3+3?", "answer": "6", "solution": ""}],
    "dapo": [public_rows.dapo("What is 2+2?", "4")] * 3,
    "deepcoder-primeintellect": [
        public_rows.primeintellect(f"Add {number}.") for number in range(_MANY)
    ],
    "deepcoder-taco": [public_rows.taco("Add.")],
    "leetcode": [public_rows.leetcode("2022-03-01")],
    "webinstruct": [public_rows.web_instruct(number) for number in range(_MANY)],
    "sciq": [public_rows.sciq()],
    "if": [public_rows.constrained(number) for number in range(_MANY)],
    "norobots": [public_rows.no_robots()],
    "longalign": [public_rows.thoughts("A long document ...")],
    "livecodebench": [public_rows.livecodebench()],
    "imo": [public_rows.imo()],
}


def test_there_are_rows_for_every_source():
    assert set(_ROWS) == {source.name for source in SOURCES}
