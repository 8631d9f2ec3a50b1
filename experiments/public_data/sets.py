"""Which public data sets go into which files. All of it is our choice: the reports' data are
unpublished."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.public_data import converters

_LIVECODEBENCH = "hf://datasets/livecodebench/code_generation_lite/"
_IMO = (
    "https://raw.githubusercontent.com/google-deepmind/superhuman/"
    "a02069ef66dbae4c5b0713ba0dc144a35375558f/imobench/answerbench_v2.csv"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class File:
    """A file that is made."""

    max_prompt_tokens: int = 4000
    """Rows with more are left out; the stages allow 4,096, the chat template included."""
    max_tokens: int | None = None
    """Of prompt and response, for rows to learn from."""
    is_unique: bool = True
    """A prompt stands there once."""
    max_rows: int | None = None
    """The first so many; None: all."""
    is_text: bool = False
    """Only id and problem, without our instruction: to be held against training data."""


FILES: Mapping[str, File] = {
    "sft.jsonl": File(max_tokens=65000, max_prompt_tokens=30000, is_unique=False),
    "sft_math_code.jsonl": File(max_tokens=40000, is_unique=False),
    "rl_math.jsonl": File(),
    "rl_code.jsonl": File(),
    "rl_stem.jsonl": File(),
    "rl_instruct.jsonl": File(max_prompt_tokens=30000),
    "heldout_math.jsonl": File(max_rows=200),
    "heldout_algebra.jsonl": File(max_rows=100),
    "heldout_geometry.jsonl": File(max_rows=100),
    "heldout_calculus.jsonl": File(max_rows=100),
    "heldout_statistics.jsonl": File(max_rows=100),
    "heldout_code.jsonl": File(max_rows=100),
    "heldout_stem.jsonl": File(max_rows=100),
    "heldout_instruct.jsonl": File(max_rows=100),
    "heldout_texts.jsonl": File(is_text=True),
    "livecodebench_texts.jsonl": File(max_prompt_tokens=30000, is_text=True),
    "imo_answerbench.jsonl": File(),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A data set, or a part of one."""

    name: str
    """As ids of its rows begin."""
    dataset: str
    """Hub name, or the reader of `datasets` for `data_files`."""
    config: str | None = None
    split: str = "train"
    data_files: tuple[str, ...] = ()
    convert: Callable[[Mapping[str, Any], str], list[dict[str, Any]]]
    max_rows: int | None = None
    """Take the first so many; None: all."""
    train: tuple[str, ...] = ()
    """Files that its rows go into, but those that are held out."""
    held_out: tuple[str, ...] = ()
    """Files that one prompt in a hundred goes into, if any; `*` in a name is the row's `subdomain`,
    and rows without one are left out."""
    is_split: bool = True
    """Nothing of the prompts that are held out goes into `train`, whatever the set."""

    @property
    def files(self) -> set[str]:
        """Every file that its rows may go into."""
        parts = ("algebra", "geometry", "calculus", "statistics")
        named = [name.replace("*", part) for name in self.held_out for part in parts]
        return {*self.train, *named}


_SFT = ("sft.jsonl", "sft_math_code.jsonl")
_TEXTS = "heldout_texts.jsonl"
_MATH = ("heldout_math.jsonl", "heldout_*.jsonl", _TEXTS)

SOURCES: Sequence[Source] = (
    Source(
        name="deepmath",
        dataset="zwhe99/DeepMath-103K",
        convert=converters.deepmath_traces,
        train=_SFT,
    ),
    Source(
        name="deepmath-problem",
        dataset="zwhe99/DeepMath-103K",
        convert=converters.deepmath_problem,
        held_out=_MATH,
    ),
    Source(
        name="thoughts-code",
        dataset="open-r1/Mixture-of-Thoughts",
        config="code",
        convert=converters.mixture_of_thoughts("code"),
        train=_SFT,
    ),
    Source(
        name="thoughts-science",
        dataset="open-r1/Mixture-of-Thoughts",
        config="science",
        convert=converters.mixture_of_thoughts("stem"),
        train=("sft.jsonl",),
    ),
    Source(
        name="smoltalk",
        dataset="HuggingFaceTB/smol-smoltalk",
        convert=converters.chat,
        max_rows=100_000,
        train=("sft.jsonl",),
    ),
    Source(
        name="personas",
        dataset="allenai/tulu-3-sft-personas-instruction-following",
        convert=converters.persona_instructions,
        train=("sft.jsonl",),
    ),
    Source(
        name="deepscaler",
        dataset="agentica-org/DeepScaleR-Preview-Dataset",
        convert=converters.deepscaler,
        train=("rl_math.jsonl",),
    ),
    Source(
        name="dapo",
        dataset="BytedTsinghua-SIA/DAPO-Math-17k",
        convert=converters.dapo_math,
        train=("rl_math.jsonl",),
    ),
    Source(
        name="deepcoder-primeintellect",
        dataset="agentica-org/DeepCoder-Preview-Dataset",
        config="primeintellect",
        convert=converters.deepcoder,
        train=("rl_code.jsonl",),
        held_out=("heldout_code.jsonl", _TEXTS),
    ),
    Source(
        name="deepcoder-taco",
        dataset="agentica-org/DeepCoder-Preview-Dataset",
        config="taco",
        convert=converters.deepcoder,
        train=("rl_code.jsonl",),
        held_out=("heldout_code.jsonl", _TEXTS),
    ),
    Source(
        name="leetcode",
        dataset="newfacade/LeetCodeDataset",
        convert=converters.leetcode,
        train=("rl_code.jsonl",),
        held_out=("heldout_code.jsonl", _TEXTS),
    ),
    Source(
        name="webinstruct",
        dataset="TIGER-Lab/WebInstruct-verified",
        convert=converters.web_instruct,
        train=("rl_stem.jsonl",),
        held_out=("heldout_stem.jsonl", _TEXTS),
    ),
    Source(
        name="sciq",
        dataset="allenai/sciq",
        convert=converters.sciq,
        train=("rl_stem.jsonl",),
        held_out=("heldout_stem.jsonl", _TEXTS),
    ),
    Source(
        name="if",
        dataset="allenai/IF_multi_constraints_upto5",
        convert=converters.if_constraints,
        train=("rl_instruct.jsonl",),
        held_out=("heldout_instruct.jsonl", _TEXTS),
    ),
    Source(
        name="norobots",
        dataset="HuggingFaceH4/no_robots",
        convert=converters.open_ended,
        train=("rl_instruct.jsonl",),
    ),
    Source(
        name="longalign",
        dataset="HuggingFaceTB/smoltalk",
        config="longalign",
        convert=converters.long_context,
        train=("rl_instruct.jsonl",),
    ),
    Source(
        name="livecodebench",
        dataset="json",
        data_files=tuple(
            f"{_LIVECODEBENCH}test{number}.jsonl" for number in ("", "2", "3", "4", "5", "6")
        ),
        convert=converters.livecodebench_text,
        is_split=False,
        train=("livecodebench_texts.jsonl",),
    ),
    Source(
        name="imo",
        dataset="csv",
        data_files=(_IMO,),
        convert=converters.imo_answerbench,
        is_split=False,
        train=("imo_answerbench.jsonl",),
    ),
)
