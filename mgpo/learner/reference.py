"""The frozen model that `algorithm.kl_coef` holds the policy to: the one the stage started from."""

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule

from mgpo.learner.batch import PackedBatch
from mgpo.learner.model import PolicyModel, load_causal_lm, shard
from mgpo.learner.setup import LearnerSetup


class ReferenceModel:
    """A second model, sharded like the policy, in the compute type, without gradients.

    It is read from `model.path` at each start, never from a checkpoint. A rank holds its share of
    the weights in the compute type; during a forward also one whole layer, and embedding and head.
    """

    def __init__(
        self,
        setup: LearnerSetup,
        mesh: DeviceMesh,
        device: torch.device,
        dtype: torch.dtype,
        chunk_tokens: int,
    ) -> None:
        causal_lm = load_causal_lm(
            setup.model_source, device, dtype, weights_dtype=dtype, rope=setup.rope
        )
        causal_lm.requires_grad_(False)
        self._model = shard(
            PolicyModel(causal_lm, setup.vocab_size, chunk_tokens),
            mesh,
            dtype,
            activation_checkpointing=False,
        )
        self._temperature = setup.temperature

    @torch.no_grad()
    def logprobs(self, batch: PackedBatch) -> torch.Tensor:
        """Return the log-probabilities (N) of the trained tokens; a collective on every rank."""
        logprobs_N, _ = self._model(batch, self._temperature)
        assert isinstance(self._model, FSDPModule)
        self._model.reshard()  # no backward pass will do it
        return logprobs_N
