"""All that is wrong, in one error."""

from collections.abc import Sequence

from px4lockstep.errors import InputError


def raise_all(problems: Sequence[str]) -> None:
    """Raise an error with every problem on a line of its own, if there is any."""
    if len(problems) == 1:
        raise InputError(problems[0])
    if problems:
        lines = "".join(f"\n  {problem}" for problem in problems)
        raise InputError(f"the scenario has {len(problems)} errors:{lines}")
