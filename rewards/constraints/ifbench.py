"""The 58 instructions of IFBench (Pyatkin et al., 2025), checked by what they mean.

An instruction about sentences, bullets or quotes is not met by a text without them.
"""

from rewards.constraints import ifbench_counts, ifbench_formats, ifbench_tasks, ifbench_words

CONSTRAINTS = {
    **ifbench_counts.CONSTRAINTS,
    **ifbench_words.CONSTRAINTS,
    **ifbench_formats.CONSTRAINTS,
    **ifbench_tasks.CONSTRAINTS,
}
"""Id -> constraint."""
