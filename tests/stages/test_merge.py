"""The merged model is the weighted mean of its parents, or nothing is written."""

import json
import shutil
import struct
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import torch
from fakes import make_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from mgpo.__main__ import main
from mgpo.algorithm.merge import weighted_mean
from mgpo.config.errors import ConfigError, DataError, UserError
from mgpo.config.load import load_config
from mgpo.config.merge import MergeConfig
from mgpo.stages import merge

Weights = dict[str, torch.Tensor]
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    """Save a tiny model; its tensors are changed by `change`, its config by `config`."""

    def run(
        name: str,
        seed: int = 0,
        *,
        dtype: torch.dtype = torch.float32,
        change: Callable[[Weights], Weights] = dict,
        config: Mapping[str, object] | None = None,
        max_shard_size: str | None = None,
        is_tied: bool = True,
    ) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        model = make_model(folder, seed, is_tied=is_tied).to(dtype)
        if max_shard_size:
            (folder / WEIGHTS).unlink()
        model.save_pretrained(folder, max_shard_size=max_shard_size or "1GB")
        if not max_shard_size:
            save_file(change(load_file(folder / WEIGHTS)), folder / WEIGHTS, {"format": "pt"})
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | dict(config or {})))
        return folder

    return run


@pytest.fixture
def refusal(tmp_path: Path) -> Callable[..., str]:
    """Return why models are not merged, after a look that nothing was left behind."""

    def run(*models: Path, weights: list[float] | None = None) -> str:
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(DataError) as caught:
            _merge(models, tmp_path / "merged", weights)
        assert sorted(tmp_path.rglob("*")) == before
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return run


def _merge(models, output, weights=None):
    config = MergeConfig(
        models=[str(model) for model in models], weights=weights, output=str(output)
    )
    return merge.run(config)


def _load(folder: Path) -> Weights:
    return {
        name: tensor
        for path in sorted(folder.glob("*.safetensors"))
        for name, tensor in load_file(path).items()
    }


def _bits(weights: Weights) -> dict[str, list[int]]:
    return {name: tensor.view(torch.uint8).flatten().tolist() for name, tensor in weights.items()}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_merging_equal_models_changes_no_bit(make, tmp_path, dtype, count):
    def with_signed_zero(weights):
        weights["model.norm.weight"][:2] = -0.0
        return weights

    models = [make(f"m{n}", dtype=dtype, change=with_signed_zero) for n in range(count)]
    _merge(models, tmp_path / "merged")
    assert _bits(_load(tmp_path / "merged")) == _bits(_load(models[0]))


def test_a_sum_of_rounded_thirds_would_change_bits():
    """What the arithmetic has to avoid: the plain sum is not the identity."""
    values = torch.randn(1000, generator=torch.Generator().manual_seed(0))
    assert not torch.equal(values * (1 / 3) + values * (1 / 3) + values * (1 / 3), values)
    assert torch.equal(weighted_mean([values] * 3, [1 / 3] * 3), values)


def test_mean_is_exact_where_it_can_be_computed_exactly():
    """Multiples of 1/64 and weights that are powers of two: no step of a plain sum rounds."""
    generator = torch.Generator().manual_seed(0)
    tensors = [torch.randint(-999, 999, (50, 7), generator=generator) / 64 for _ in range(3)]
    expected = 0.25 * tensors[0] + 0.5 * tensors[1] + 0.25 * tensors[2]
    assert torch.equal(weighted_mean(tensors, [0.25, 0.5, 0.25]), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_merged_weights_are_the_plain_mean_of_the_files_to_half_a_unit(make, tmp_path, dtype):
    models = [make(f"m{seed}", seed, dtype=dtype) for seed in range(3)]
    _merge(models, tmp_path / "merged", [0.2, 0.3, 0.5])
    merged, parents = _load(tmp_path / "merged"), [_load(model) for model in models]
    assert merged.keys() == parents[0].keys()
    for name, tensor in merged.items():
        assert tensor.dtype == dtype
        plain = sum(w * p[name].double() for w, p in zip([0.2, 0.3, 0.5], parents, strict=True))
        # Slightly more: torch rounds float64 to bfloat16 by way of float32, and where values cancel
        # the plain sum has an error of its own.
        half_a_unit = torch.finfo(dtype).eps / 2 * plain.abs() * (1 + 2**-14) + 1e-15
        assert ((tensor.double() - plain).abs() <= half_a_unit).all(), name


def test_tensors_larger_than_a_piece_are_whole(make, tmp_path, monkeypatch):
    monkeypatch.setattr(merge, "_PIECE_ELEMENTS", 100)
    models = [make("a", 0), make("b", 1)]
    _merge(models, tmp_path / "merged", [0.75, 0.25])
    merged, parents = _load(tmp_path / "merged"), [_load(model) for model in models]
    for name, tensor in merged.items():
        plain = 0.75 * parents[0][name].double() + 0.25 * parents[1][name].double()
        assert torch.equal(tensor, plain.float()), name


def test_weight_one_returns_that_model_and_ignores_what_the_others_hold(make, tmp_path):
    huge = make("huge", 1, change=lambda w: {name: t * 1e30 for name, t in w.items()})
    small = make("small", 2)
    _merge([huge, small], tmp_path / "merged", [0.0, 1.0])
    assert _bits(_load(tmp_path / "merged")) == _bits(_load(small))


@pytest.mark.parametrize("sharded_first", [True, False])
def test_layout_is_the_first_models_whatever_the_others_have(make, tmp_path, sharded_first):
    sharded, single = make("sharded", 0, max_shard_size="20KB"), make("single", 1)
    assert len(list(sharded.glob("*.safetensors"))) > 1
    models = [sharded, single] if sharded_first else [single, sharded]
    output = tmp_path / "merged"
    _merge(models, output)
    names = {path.name for path in models[0].glob("*.safetensors*")}
    assert {path.name for path in output.glob("*.safetensors*")} == names
    merged, parents = _load(output), [_load(model) for model in models]
    for name, tensor in merged.items():
        plain = (parents[0][name].double() + parents[1][name].double()) / 2
        assert torch.equal(tensor, plain.float()), name
    AutoModelForCausalLM.from_pretrained(output)


@pytest.mark.parametrize("layout", ["tied", "tied, head stored twice", "untied"])
def test_merged_model_has_the_logits_of_a_merge_in_memory(make, tmp_path, layout):
    def with_head(weights):
        return weights | {"lm_head.weight": weights["model.embed_tokens.weight"].clone()}

    change = with_head if layout.endswith("twice") else dict
    models = [make(f"m{n}", n, change=change, is_tied=layout != "untied") for n in range(2)]
    _merge(models, tmp_path / "merged", [0.75, 0.25])
    first, second, merged = (
        AutoModelForCausalLM.from_pretrained(folder) for folder in (*models, tmp_path / "merged")
    )
    with torch.no_grad():
        pairs = zip(first.parameters(), second.parameters(), strict=True)
        for mine, other in pairs:  # a tied weight comes once
            mine.copy_(0.75 * mine.double() + 0.25 * other.double())
        ids = torch.arange(40)[None]
        assert torch.equal(merged(ids).logits, first(ids).logits)
    is_tied = merged.lm_head.weight.data_ptr() == merged.model.embed_tokens.weight.data_ptr()
    assert is_tied == (layout != "untied")


def test_files_beside_the_weights_come_from_the_first_model(make, tmp_path):
    models = [make("a", 0), make("b", 1)]
    (models[0] / "optimizer.bin").write_text("not part of a model")
    _merge(models, tmp_path / "merged")
    for name in ("config.json", "generation_config.json", "tokenizer.json", "chat_template.jinja"):
        assert (tmp_path / "merged" / name).read_bytes() == (models[0] / name).read_bytes()
    assert not (tmp_path / "merged" / "optimizer.bin").exists()
    assert AutoTokenizer.from_pretrained(tmp_path / "merged").encode("1+1") == [16, 10, 16]


def test_provenance_names_parents_weights_and_hashes(make, tmp_path):
    models = [make("a", 0), make("b", 1)]
    _merge(models, tmp_path / "merged", [0.25, 0.75])
    record = json.loads((tmp_path / "merged" / "provenance.json").read_text())
    assert [(p["source"], p["weight"]) for p in record["parents"]] == [
        (str(models[0]), 0.25),
        (str(models[1]), 0.75),
    ]
    hashes = [parent["sha256"][WEIGHTS] for parent in record["parents"]]
    assert len(set(hashes)) == 2
    assert record["versions"]["torch"]


def test_equal_integer_buffers_are_kept(make, tmp_path):
    buffers = {"steps": torch.tensor([3, 2**62 + 1]), "mask": torch.tensor(True)}
    models = [make(f"m{n}", n, change=lambda w: w | buffers) for n in range(2)]
    _merge(models, tmp_path / "merged")
    merged = _load(tmp_path / "merged")
    assert torch.equal(merged["steps"], buffers["steps"])
    assert torch.equal(merged["mask"], buffers["mask"])


def test_integer_buffers_that_differ_are_refused(make, refusal):
    models = [make(f"m{n}", change=lambda w, n=n: w | {"s": torch.tensor([3, n])}) for n in (5, 6)]
    assert f"model {models[1]}: tensor s (I64) has 6 where {models[0]} has 5" in refusal(*models)


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        (
            lambda w: {name: t for name, t in w.items() if name != "model.norm.weight"},
            "tensor model.norm.weight is absent, in {first} it is F32 [32]",
        ),
        (lambda w: w | {"more": torch.zeros(2)}, "tensor more is F32 [2], in {first} it is absent"),
        (
            lambda w: w | {"model.norm.weight": torch.zeros(31)},
            "tensor model.norm.weight is F32 [31], in {first} it is F32 [32]",
        ),
        (
            lambda w: w | {"model.norm.weight": torch.zeros(32).bfloat16()},
            "tensor model.norm.weight is BF16 [32], in {first} it is F32 [32]",
        ),
    ],
)
def test_tensors_that_differ_are_refused(make, refusal, change, fragment):
    first, other = make("a", 0), make("b", 1, change=change)
    message = refusal(first, make("c", 2), other)
    assert message.startswith(f"model {other}: ")
    assert fragment.format(first=first) in message


@pytest.mark.parametrize(
    ("config", "fragment"),
    [
        ({"num_attention_heads": 8}, "num_attention_heads=8, that of {first} has 4"),
        ({"vocab_size": 289}, "vocab_size=289, that of {first} has 288"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings=False, that of {first} has True"),
        (
            {"rope_parameters": {"rope_type": "default", "rope_theta": 5.0}},
            "rope_parameters.rope_theta=5.0, that of {first} has 10000.0",
        ),
        ({"architectures": ["LlamaForCausalLM"]}, "architectures=['LlamaForCausalLM'], that of"),
    ],
)
def test_configurations_that_differ_are_refused(make, refusal, config, fragment):
    first, other = make("a", 0), make("b", 1, config=config)
    message = refusal(first, other)
    assert message.startswith(f"model {other}: its config.json has ")
    assert fragment.format(first=first) in message


def test_versions_in_a_configuration_may_differ(make, tmp_path):
    other = make("b", 1, config={"transformers_version": "4.1", "use_cache": False})
    assert _merge([make("a", 0), other], tmp_path / "merged").startswith("merged 2 models")


@pytest.mark.parametrize("name", ["tokenizer.json", "chat_template.jinja", "vocab.json"])
def test_tokenizer_files_that_differ_are_refused(make, refusal, name):
    first, other = make("a", 0), make("b", 1)
    with (other / name).open("a") as file:
        file.write(" ")
    message = refusal(first, other)
    assert message.startswith(f"model {other}: its tokenizer file {name} (sha256 ")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_model_with_values_that_are_not_finite_is_refused(make, refusal, value):
    def spoil(weights):
        weights["model.norm.weight"][3] = value
        return weights

    first, other = make("a", 0), make("b", 1, change=spoil)
    assert f"model {other}: tensor model.norm.weight holds {value}" in refusal(first, other)


def test_quantized_weights_are_refused(make, refusal):
    models = [
        make(f"m{n}", change=lambda w: w | {"q": torch.zeros(2).to(torch.float8_e4m3fn)})
        for n in range(2)
    ]
    assert "tensor q has the type F8_E4M3, allowed are F64, F32" in refusal(*models)


def test_folders_that_are_no_models_are_refused(make, refusal, tmp_path):
    good = make("a", 0)
    assert f"model {tmp_path}/no: has neither {WEIGHTS}" in refusal(good, tmp_path / "no")
    no_config = make("b", 1)
    (no_config / "config.json").unlink()
    assert f"model {no_config}: no usable config.json" in refusal(good, no_config)
    cut = make("c", 1)
    (cut / WEIGHTS).write_bytes((cut / WEIGHTS).read_bytes()[:-4])
    assert f"model {cut}: {WEIGHTS} cannot be read" in refusal(good, cut)


def test_an_index_that_is_wrong_is_refused(make, refusal):
    good = make("a", 0)
    sharded = make("s", 1, max_shard_size="20KB")
    index = json.loads((sharded / INDEX).read_text())
    shards = list(index["weight_map"].values())
    shard = next(shard for shard in shards if shards.count(shard) > 1)
    name = next(name for name, file in index["weight_map"].items() if file == shard)

    def refusal_of(weight_map):
        (sharded / INDEX).write_text(json.dumps(index | {"weight_map": weight_map}))
        return refusal(sharded, good)

    without = {key: value for key, value in index["weight_map"].items() if key != name}
    assert f"{INDEX} and {shard} disagree about tensor {name}" in refusal_of(without)
    outside = index["weight_map"] | {name: "../x.safetensors"}
    assert "names '../x.safetensors', not a file of its own folder" in refusal_of(outside)
    missing = index["weight_map"] | {"x": "lost.safetensors"}
    assert "lost.safetensors cannot be read" in refusal_of(missing)
    assert "has no usable weight_map" in refusal_of(None)


def test_an_existing_output_is_left_as_it_is(make, tmp_path):
    (tmp_path / "merged").mkdir()
    (tmp_path / "merged" / "precious").write_text("kept")
    with pytest.raises(UserError, match="merged exists already; remove it or name another output"):
        _merge([make("a", 0)], tmp_path / "merged")
    assert [path.name for path in (tmp_path / "merged").iterdir()] == ["precious"]


def test_an_output_that_appears_meanwhile_is_not_replaced(make, tmp_path, monkeypatch):
    output = tmp_path / "merged"

    def describe_and_be_overtaken(source):
        output.mkdir()
        return {"source": source}

    monkeypatch.setattr(merge, "describe_model", describe_and_be_overtaken)
    with pytest.raises(UserError, match="merged exists already"):
        _merge([make("a", 0)], output)
    assert not list(output.iterdir())
    assert {path.name for path in tmp_path.iterdir()} == {"a", "merged"}


def test_written_header_is_aligned_as_the_format_asks(make, tmp_path):
    _merge([make("a", 0), make("b", 1)], tmp_path / "merged")
    content = (tmp_path / "merged" / WEIGHTS).read_bytes()
    (header_size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + header_size])
    assert header_size % 8 == 0
    assert header.pop("__metadata__") == {"format": "pt"}
    ends = [entry["data_offsets"][1] for entry in header.values()]
    assert max(ends) == len(content) - 8 - header_size


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("weights=[0.5]", "weights must be one per model (2), got 1"),
        ("weights=[1.5,-0.5]", "weights[1] must be at least 0, got -0.5"),
        ("weights=[.nan,1]", "weights[0] must be at least 0, got nan"),
        ("weights=[0.5,0.4]", "weights must add up to 1, got [0.5, 0.4] with the sum 0.9"),
        ("models=[]", "the number of models must be at least 1, got 0"),
        ("wieghts=[1,0]", "unknown key wieghts; did you mean weights?"),
        ("stage=rl", "says stage rl; run it with `mgpo rl`"),
    ],
)
def test_a_wrong_configuration_is_one_clear_line(tmp_path, override, message):
    path = tmp_path / "merge.yaml"
    path.write_text("models: [a, b]\noutput: c\n")
    with pytest.raises(ConfigError) as caught:
        load_config(path, [override], "merge")
    assert message in str(caught.value)


def test_weights_default_to_equal_shares(tmp_path):
    path = tmp_path / "merge.yaml"
    path.write_text("stage: merge\nmodels: [a, b, a, c]\noutput: d\n")
    assert load_config(path, [], "merge").shares == [0.25] * 4
    path.write_text("models: [a]\n")
    with pytest.raises(ConfigError, match="missing output: set there or as key=value"):
        load_config(path, [], "merge")


def test_command_merges_and_refuses_to_do_it_twice(make, tmp_path, capsys):
    experiment = tmp_path / "merge.yaml"
    experiment.write_text(
        f"models: [{make('a', 0)}, {make('b', 1)}]\noutput: {tmp_path}/x/merged\n"
    )
    command = ["merge", str(experiment), "weights=[0.25,0.75]"]
    assert main(command) == 0
    assert "merged 2 models with weights 0.25, 0.75 into" in capsys.readouterr().out
    assert main(command) == 2
    assert "exists already" in capsys.readouterr().err
    shutil.rmtree(tmp_path / "x")
    assert main([*command, "models=[/nowhere,/nowhere]"]) == 2
    assert "model /nowhere: has neither" in capsys.readouterr().err
