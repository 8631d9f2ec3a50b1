"""The 58 instructions of IFBench with the verdicts of the official code, faults included.

Behaviour after allenai/IFBench at db69a6f; written anew. Approximate are those that rest on
NLTK's sentence model or tagger or on syllapy's dictionary.
"""

from rewards.constraints import (
    ifbench_official_counts,
    ifbench_official_formats,
    ifbench_official_tasks,
    ifbench_official_words,
)

CONSTRAINTS = {
    **ifbench_official_counts.CONSTRAINTS,
    **ifbench_official_words.CONSTRAINTS,
    **ifbench_official_formats.CONSTRAINTS,
    **ifbench_official_tasks.CONSTRAINTS,
}
"""Id -> constraint."""
