"""The learner: FSDP2 ranks in Ray actors."""
