"""Butcher tableaux, as data.

A step from x over h takes the slopes and the new state

    k_i = f(t + c_i h, x + h Σ_{j<i} a_ij k_j),   x' = x + h Σ b_i k_i

and an embedded pair estimates the error of x' as h Σ e_i k_i, where the last slope is taken at x' itself.
"""

from dataclasses import dataclass
from fractions import Fraction as F
from typing import Any

from px4lockstep.jit import record

MAX_STAGES = 7

TABLEAU = record(
    [
        ("n_stages", "i8"),  # slopes that the new state is made of
        ("n_error_slopes", "i8"),  # slopes that the error estimate is made of; 0 without one
        ("a", "f8", (MAX_STAGES, MAX_STAGES)),  # row n_stages is b
        ("c", "f8", MAX_STAGES),
        ("e", "f8", MAX_STAGES),
    ]
)


@dataclass(frozen=True)
class Tableau:
    """An explicit method, in exact fractions."""

    name: str
    order: int
    a: tuple[tuple[F, ...], ...]
    b: tuple[F, ...]
    c: tuple[F, ...]
    e: tuple[F, ...] = ()

    def write(self, tableau: Any) -> None:
        """Write the coefficients, correctly rounded, into a `TABLEAU` record."""
        tableau["n_stages"] = len(self.b)
        tableau["n_error_slopes"] = len(self.e)
        for i, row in enumerate((*self.a, self.b)):
            tableau["a"][i, : len(row)] = [float(value) for value in row]
        tableau["c"][: len(self.c)] = [float(value) for value in self.c]
        tableau["e"][: len(self.e)] = [float(value) for value in self.e]


EULER = Tableau("Euler", 1, a=((),), b=(F(1),), c=(F(0),))

RK4 = Tableau(
    "RK4",
    4,
    a=((), (F(1, 2),), (F(0), F(1, 2)), (F(0), F(0), F(1))),
    b=(F(1, 6), F(1, 3), F(1, 3), F(1, 6)),
    c=(F(0), F(1, 2), F(1, 2), F(1)),
)
"""The classical method: Kutta, Z. Math. Phys. 46 (1901)."""

RK23 = Tableau(
    "RK23",
    3,
    a=((), (F(1, 2),), (F(0), F(3, 4))),
    b=(F(2, 9), F(1, 3), F(4, 9)),
    c=(F(0), F(1, 2), F(3, 4)),
    e=(F(2, 9) - F(7, 24), F(1, 3) - F(1, 4), F(4, 9) - F(1, 3), F(-1, 8)),
)
"""Bogacki and Shampine, A 3(2) pair of Runge-Kutta formulas, Appl. Math. Lett. 2 (1989)."""

RK45 = Tableau(
    "RK45",
    5,
    a=(
        (),
        (F(1, 5),),
        (F(3, 40), F(9, 40)),
        (F(44, 45), F(-56, 15), F(32, 9)),
        (F(19372, 6561), F(-25360, 2187), F(64448, 6561), F(-212, 729)),
        (F(9017, 3168), F(-355, 33), F(46732, 5247), F(49, 176), F(-5103, 18656)),
    ),
    b=(F(35, 384), F(0), F(500, 1113), F(125, 192), F(-2187, 6784), F(11, 84)),
    c=(F(0), F(1, 5), F(3, 10), F(4, 5), F(8, 9), F(1)),
    e=(
        F(35, 384) - F(5179, 57600),
        F(0),
        F(500, 1113) - F(7571, 16695),
        F(125, 192) - F(393, 640),
        F(-2187, 6784) - F(-92097, 339200),
        F(11, 84) - F(187, 2100),
        F(-1, 40),
    ),
)
"""Dormand and Prince, A family of embedded Runge-Kutta formulae, J. Comput. Appl. Math. 6 (1980)."""

TABLEAUX = {tableau.name: tableau for tableau in (EULER, RK4, RK23, RK45)}
