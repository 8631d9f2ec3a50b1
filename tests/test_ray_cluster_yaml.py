"""ray_cluster.yaml is one that Ray takes, and installs what setup.py asks for."""

import ast
import shlex
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from ray.autoscaler._private.util import prepare_config, validate_config

ROOT = Path(__file__).parents[1]


def read_cluster() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "ray_cluster.yaml").read_text())


def setup_arguments() -> dict[str, Any]:
    """The literal arguments of setup.py's setup()."""
    module = ast.parse((ROOT / "setup.py").read_text())
    call = next(
        node.value
        for node in module.body
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    )
    wanted = ("install_requires", "extras_require")
    return {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg in wanted}


def commands_of(node_type: str) -> list[str]:
    """All set-up commands that nodes of a type run, as Ray puts them together."""
    cluster = prepare_config(read_cluster())
    if node_type == cluster["head_node_type"]:
        return cluster["head_setup_commands"]
    own = cluster["available_node_types"][node_type].get("worker_setup_commands")
    return cluster["worker_setup_commands"] if own is None else own


def words(commands: list[str]) -> list[str]:
    return [word for command in commands for word in shlex.split(command)]


def test_ray_accepts_it() -> None:
    cluster = prepare_config(read_cluster())
    assert cluster["provider"]["type"] == "aws"
    validate_config(cluster)
    del cluster["provider"]["type"]
    with pytest.raises(jsonschema.ValidationError, match="'type' is a required property"):
        validate_config(cluster)


@pytest.mark.parametrize("node_type", ["head", "gpu_worker", "cpu_worker"])
def test_every_node_installs_the_requirements_of_setup_py(node_type: str) -> None:
    found = commands_of(node_type)
    listing = shlex.split(next(command for command in found if command.startswith("printf ")))
    assert listing[:2] == ["printf", r"%s\n"]
    assert listing[-2:] == [">", "~/requirements.txt"]
    assert listing[2:-2] == setup_arguments()["install_requires"]
    assert any(command.startswith("pip install -r ~/requirements.txt") for command in found)


def test_gpu_nodes_alone_get_the_extras_for_gpus() -> None:
    extras = setup_arguments()["extras_require"]
    wanted = {*extras["vllm"], *extras["flash-attn"]}
    assert wanted <= set(words(commands_of("gpu_worker")))
    for node_type in ("head", "cpu_worker"):
        assert not wanted & set(words(commands_of(node_type)))


def test_no_node_installs_mgpo_which_comes_with_each_job() -> None:
    for node_type in read_cluster()["available_node_types"]:
        assert not {"mgpo", ".", "-e"} & set(words(commands_of(node_type)))


def test_head_leaves_stopped_jobs_time_to_save() -> None:
    start = read_cluster()["head_start_ray_commands"][-1]
    assert shlex.split(start)[:4] == ["RAY_JOB_STOP_WAIT_TIME_S=600", "ray", "start", "--head"]


def test_images_have_the_tested_ray() -> None:
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    version = next(pin for pin in pins if pin.startswith("ray==")).removeprefix("ray==")
    cluster = read_cluster()
    dockers = [
        cluster["docker"],
        *(t.get("docker", {}) for t in cluster["available_node_types"].values()),
    ]
    images = [value for docker in dockers for key, value in docker.items() if key.endswith("image")]
    assert len(images) == 3
    for image in images:
        assert image.startswith(f"rayproject/ray:{version}-py311")
