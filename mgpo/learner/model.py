"""The policy: a transformers causal LM, its packed forward pass, and its sharding."""

from collections.abc import Iterator
from pathlib import Path

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor
from transformers import AutoModelForCausalLM, PreTrainedModel
from transformers.utils import is_flash_attn_2_available

from mgpo.config.model import RopeConfig
from mgpo.data.model_files import load_model_config
from mgpo.learner.attention import PACKED_SDPA
from mgpo.learner.batch import PackedBatch
from mgpo.learner.head import token_logprobs


class PolicyModel(nn.Module):
    """Packed tokens in, log-probabilities of the trained tokens out.

    The head runs inside this module's forward, because this module is the sharded root: embedding
    and (tied) head weight are whole while it runs.
    """

    def __init__(self, causal_lm: PreTrainedModel, vocab_size: int, chunk_tokens: int) -> None:
        super().__init__()
        self.causal_lm = causal_lm
        self.vocab_size = vocab_size
        self.chunk_tokens = chunk_tokens

    def forward(self, batch: PackedBatch, temperature: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Return log-probabilities (N) and entropies (N); see `head.token_logprobs`."""
        layout = batch.layout
        hidden_1TD = self.causal_lm.base_model(
            input_ids=batch.input_ids_T[None],
            position_ids=batch.position_ids_T[None],
            use_cache=False,
            layout=layout,
            cu_seq_lens_q=layout.cu_seq_lens,
            cu_seq_lens_k=layout.cu_seq_lens,
            max_length_q=layout.max_len,
            max_length_k=layout.max_len,
        ).last_hidden_state
        return token_logprobs(
            hidden_1TD[0].index_select(0, batch.predictor_N),
            self.causal_lm.get_output_embeddings().weight,
            batch.targets_N,
            vocab_size=self.vocab_size,
            temperature=temperature,
            chunk_tokens=self.chunk_tokens,
        )

    def layers(self) -> nn.ModuleList:
        """The decoder layers: the units of sharding and of activation checkpointing."""
        layers = self.causal_lm.base_model.layers
        assert isinstance(layers, nn.ModuleList)
        return layers

    def tensor_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Return name and whole shape of each weight, in the order of `named_full_tensors`."""
        return [(name, tuple(value.shape)) for name, value in self.causal_lm.named_parameters()]

    def named_full_tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield (name in the causal LM, whole fp32 tensor); a collective on every rank.

        A tied head appears once, under the embedding's name.
        """
        for name, parameter in self.causal_lm.named_parameters():
            shard_of = parameter.detach()
            assert isinstance(shard_of, DTensor), f"{name} is not in its sharded state"
            yield name, shard_of.full_tensor()


def load_causal_lm(
    path: str | Path,
    device: torch.device,
    compute_dtype: torch.dtype,
    weights_dtype: torch.dtype = torch.float32,
    rope: RopeConfig | None = None,
) -> PreTrainedModel:
    """Load weights, fp32 masters by default, with packed attention and without dropout."""
    config = load_model_config(str(path), rope)
    attention = _attention_for(device, compute_dtype)
    if "attention_dropout" in config.to_dict():
        config.attention_dropout = 0.0
    model = AutoModelForCausalLM.from_pretrained(
        path, config=config, dtype=weights_dtype, attn_implementation=attention
    )
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return nn.Module.to(model, device)


def _attention_for(device: torch.device, compute_dtype: torch.dtype) -> str:
    is_half = compute_dtype in (torch.bfloat16, torch.float16)
    if device.type == "cuda" and is_half and is_flash_attn_2_available():
        return "flash_attention_2"
    return PACKED_SDPA


def shard(
    model: PolicyModel, mesh: DeviceMesh, dtype: torch.dtype, *, activation_checkpointing: bool
) -> PolicyModel:
    """Apply FSDP2 layer by layer: fp32 masters, `dtype` compute, gradients summed in fp32.

    FSDP's own averaging is off: the learner divides once by the batch's denominator.
    """
    if activation_checkpointing:
        model.causal_lm.gradient_checkpointing_enable({"use_reentrant": False})
    policy = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)
    for layer in model.layers():
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    # Embedding, norm and head stay whole between forward and backward: the head's backward reads
    # them.
    fully_shard(model, mesh=mesh, mp_policy=policy, reshard_after_forward=False)
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.set_gradient_divide_factor(1.0)
            module.set_force_sum_reduction_for_comms(True)
    return model.train()
