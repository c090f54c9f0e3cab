"""Butcher tableaux, as data.

A step of size h from x evaluates the slopes and the new state

    k_i = f(t + c_i h, x + h Σ_{j<i} a_ij k_j),   x' = x + h Σ b_i k_i

and an embedded pair estimates the error of x' as h Σ e_i k_i, where the last slope is evaluated at x' itself.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from typing import Any, Literal

from px4lockstep.jit import record

MAX_STAGES = 7

TABLEAU = record(
    [
        ("n_stages", "i8"),  # slopes in the new state
        ("n_error_slopes", "i8"),  # slopes in the error estimate, 4 or 7, of which the last may count 0; 0 without one
        ("a", "f8", (MAX_STAGES, MAX_STAGES)),  # row n_stages is b
        ("leading_zeros", "i8", MAX_STAGES),  # leading zeros of each row of a, which are skipped
        ("c", "f8", MAX_STAGES),
        ("e", "f8", MAX_STAGES),
    ]
)


@dataclass(frozen=True)
class Tableau:
    """An explicit method in exact fractions; `b_embedded` holds the weights of the embedded method, if any.

    Its error estimate decreases with the step size as h^`order`.
    """

    name: str
    order: int
    a: tuple[tuple[Fraction, ...], ...]
    b: tuple[Fraction, ...]
    c: tuple[Fraction, ...]
    b_embedded: tuple[Fraction, ...] = ()

    @property
    def e(self) -> tuple[Fraction, ...]:
        """The weights of the error estimate, b − b_embedded; empty without an embedded method."""
        pairs = zip_longest(self.b, self.b_embedded, fillvalue=Fraction(0))
        return tuple(b - embedded for b, embedded in pairs) if self.b_embedded else ()

    def write(self, tableau: Any) -> None:
        """Write the coefficients, correctly rounded, into a `TABLEAU` record."""
        tableau["n_stages"] = len(self.b)
        tableau["n_error_slopes"] = 0 if not self.e else 4 if len(self.e) <= 4 else MAX_STAGES  # as `write_error` sums
        for i, row in enumerate((*self.a, self.b)):
            tableau["a"][i, : len(row)] = [float(value) for value in row]
            tableau["leading_zeros"][i] = next((j for j, value in enumerate(row) if value != 0), len(row))
        tableau["c"][: len(self.c)] = [float(value) for value in self.c]
        tableau["c"][len(self.c)] = 1.0  # for the slope at the new state
        tableau["e"][: len(self.e)] = [float(value) for value in self.e]


def _row(fractions: str) -> tuple[Fraction, ...]:
    return tuple(Fraction(text) for text in fractions.split())


def _rows(*rows: str) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(_row(row) for row in rows)


EULER = Tableau("Euler", 1, a=_rows(""), b=_row("1"), c=_row("0"))

RK4 = Tableau("RK4", 4, a=_rows("", "1/2", "0 1/2", "0 0 1"), b=_row("1/6 1/3 1/3 1/6"), c=_row("0 1/2 1/2 1"))
"""The classical method: Kutta, Z. Math. Phys. 46 (1901)."""

RK23 = Tableau(
    "RK23",
    3,
    a=_rows("", "1/2", "0 3/4"),
    b=_row("2/9 1/3 4/9"),
    c=_row("0 1/2 3/4"),
    b_embedded=_row("7/24 1/4 1/3 1/8"),
)
"""Bogacki and Shampine, A 3(2) pair of Runge-Kutta formulas, Appl. Math. Lett. 2 (1989)."""

RK45 = Tableau(
    "RK45",
    5,
    a=_rows(
        "",
        "1/5",
        "3/40 9/40",
        "44/45 -56/15 32/9",
        "19372/6561 -25360/2187 64448/6561 -212/729",
        "9017/3168 -355/33 46732/5247 49/176 -5103/18656",
    ),
    b=_row("35/384 0 500/1113 125/192 -2187/6784 11/84"),
    c=_row("0 1/5 3/10 4/5 8/9 1"),
    b_embedded=_row("5179/57600 0 7571/16695 393/640 -92097/339200 187/2100 1/40"),
)
"""Dormand and Prince, A family of embedded Runge-Kutta formulae, J. Comput. Appl. Math. 6 (1980)."""

Method = Literal["Euler", "RK4", "RK23", "RK45"]
Kind = Literal[Method, "tableau"]
"""A method, or a tableau of the user's own."""

TABLEAUX: dict[Method, Tableau] = {"Euler": EULER, "RK4": RK4, "RK23": RK23, "RK45": RK45}
