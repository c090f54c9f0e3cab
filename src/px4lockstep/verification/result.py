"""One line of a verification: what was measured and what is allowed."""

import math
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Result:
    """The error of a case with an integrator, beside its bound."""

    case: str
    integrator: str
    error: float
    bound: float

    @property
    def passed(self) -> bool:
        """Whether the error is within the bound; a NaN is not."""
        return self.error <= self.bound

    def as_dict(self) -> dict[str, object]:
        """Return the result as `--json` prints it."""
        error = self.error if math.isfinite(self.error) else None  # JSON has no NaN
        return {**asdict(self), "error": error, "passed": self.passed}
