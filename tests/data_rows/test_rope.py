"""A longer context is one setting, which every model that is written carries on."""

import fakes
import pytest

from mgpo.config.errors import ConfigError
from mgpo.config.model import RopeConfig
from mgpo.data.model_files import load_model_config, read_model_facts

LONGER = RopeConfig(factor=2.0, original_context=fakes.CONTEXT_TOKENS)


@pytest.fixture
def path(tmp_path):
    fakes.make_model(tmp_path, seed=0)
    return str(tmp_path)


def test_the_context_grows_by_the_factor_and_the_base_stays(path):
    own, longer = load_model_config(path), load_model_config(path, LONGER)
    assert read_model_facts(path, LONGER).context_tokens == 2 * fakes.CONTEXT_TOKENS
    assert longer.rope_parameters == {
        **own.rope_parameters,
        "rope_type": "yarn",
        "factor": 2.0,
        "original_max_position_embeddings": fakes.CONTEXT_TOKENS,
    }
    assert load_model_config(path, RopeConfig()).rope_parameters == own.rope_parameters


def test_a_model_that_was_written_with_it_takes_the_same_setting_and_no_other(path):
    load_model_config(path, LONGER).save_pretrained(path)
    assert read_model_facts(path).context_tokens == 2 * fakes.CONTEXT_TOKENS
    assert read_model_facts(path, LONGER).context_tokens == 2 * fakes.CONTEXT_TOKENS
    other = RopeConfig(factor=4.0, original_context=fakes.CONTEXT_TOKENS)
    with pytest.raises(ConfigError, match="is scaled already"):
        load_model_config(path, other)


def test_a_wrong_original_context_is_refused(path):
    with pytest.raises(ConfigError, match=r"was made for 512 tokens .*original_context is 32768"):
        load_model_config(path, RopeConfig(factor=2.0))


@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_a_factor_that_does_not_lengthen_is_refused(factor):
    with pytest.raises(ValueError, match=r"model\.rope\.factor must be"):
        RopeConfig(factor=factor)
