"""The eight readings of a response under which IFEval's loose verdict is the best one."""


def variants(response: str) -> list[str]:
    """Return the response as it is, without its first or last line or both, each also without *.

    The first and last lines are often a greeting or an offer of more help, the asterisks markdown.
    """
    lines = response.split("\n")
    cut = ["\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])]
    readings = [response, *cut]
    return readings + [reading.replace("*", "") for reading in readings]
