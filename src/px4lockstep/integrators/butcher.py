"""Integration methods of the user's own, as a Butcher tableau in a spec file or in Python.

    heun = ButcherTableau(order=2, a=[[], [1]], b=["1/2", "1/2"], c=[0, 1], b_embedded=[1, 0])
    Integrator("tableau", tableau=heun)

Coefficients are numbers or fractions as text, which are exact. The method must be consistent, Σ_j a_ij = c_i, and
satisfy the order conditions of all rooted trees t with up to `order` nodes (Butcher 1963):

    Σ b_i Φ_i(t) = 1 / γ(t),   Φ_i([t_1 … t_m]) = Π_k Σ_j a_ij Φ_j(t_k),   γ(t) = |t| γ(t_1) … γ(t_m)
"""

import functools
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator

from px4lockstep.integrators.tableaux import MAX_STAGES, Tableau
from px4lockstep.part import KEY, Found, Part, entry, misfit, show, wrong

FRACTION = re.compile(r"[+-]?\d{1,30}(/0*[1-9]\d{0,29})?")
ROUNDING = 1e-12
"""Largest error of a condition: coefficients that are not fractions are rounded."""
MAX_ORDER = 5
"""No explicit method with `MAX_STAGES` - 1 slopes has a higher order."""
MAX_SIZE = 1e3

Tree = tuple[Any, ...]
"""A rooted tree: the trees below its root."""
Row = tuple[Fraction, ...]


def _coefficient(value: Any) -> Any:
    """Return a number, or a fraction as text."""
    if isinstance(value, Fraction):
        value = str(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    is_fraction = isinstance(value, str) and FRACTION.fullmatch(value) is not None
    if not (is_number or is_fraction) or not abs(Fraction(value) if is_fraction else value) <= MAX_SIZE:
        text = f"it must be a number or a fraction such as '3/40', from {-MAX_SIZE:g} to {MAX_SIZE:g}"
        raise wrong(f"{KEY} = {show(value)} is not a coefficient; {text}")
    return value


Coefficient = Annotated[float | str, BeforeValidator(_coefficient)]
SIZE: dict[str, Any] = {"ge": -MAX_SIZE, "le": MAX_SIZE}


class ButcherTableau(Part, where="plant.integrator.tableau", stage="plant"):
    """An explicit Runge-Kutta method; with embedded weights its step size can be adaptive."""

    order: int = entry(..., "Order of the method. Its order conditions are checked.", ge=1, le=MAX_ORDER)
    a: tuple[tuple[Coefficient, ...], ...] = entry(
        ...,
        "Coefficients below the diagonal, a row per slope; the first is empty. Fractions as text are exact.",
        **SIZE,
    )
    b: tuple[Coefficient, ...] = entry(..., "Weights of the slopes.", min_length=1, max_length=MAX_STAGES - 1, **SIZE)
    c: tuple[Coefficient, ...] = entry(..., "Times of the slopes, as fractions of the step.", **SIZE)
    b_embedded: tuple[Coefficient, ...] = entry(
        (),
        "Weights of the embedded method, for adaptive steps; one more than `b` if it uses the slope at the new state.",
        **SIZE,
    )

    def check(self) -> Found:
        """Check the shape, the sums of the rows and the order conditions."""
        count, sizes = len(self.b), [len(row) for row in self.a]
        if sizes != list(range(count)):
            text = f"has rows of {sizes} numbers; with {count} weights they must be of {[*range(count)]}"
            yield misfit("a", self.a, text)
        elif len(self.c) != count:
            yield misfit("c", self.c, f"has {len(self.c)} numbers; it must have {count}, like b")
        elif self.b_embedded and len(self.b_embedded) not in (count, count + 1):
            text = f"has {len(self.b_embedded)} numbers; it must have {count}, like b, or {count + 1}"
            yield misfit("b_embedded", self.b_embedded, text)
        else:
            yield from self._conditions()

    def _conditions(self) -> Found:
        method = self.method
        for i, (row, c) in enumerate(zip(method.a, method.c, strict=True)):
            total = _dot(row, (Fraction(1),) * i)
            if abs(total - c) > ROUNDING:
                text = f"is not the sum of row {i} of a, {float(total):.12g}; it must be, in a consistent method"
                yield ("c", i), f"{KEY} = {show(self.c[i])} {text}"
                return
        found = order_of(method.a, method.b)
        if found < self.order:
            text = f"does not fit the coefficients: they satisfy the order conditions up to order {found} only"
            yield misfit("order", self.order, text)
        elif self.b_embedded and order_of(*self._embedded) < 1:
            yield misfit("b_embedded", self.b_embedded, "must add up to 1")
        elif self.b_embedded and all(e == 0 for e in method.e):
            yield misfit("b_embedded", self.b_embedded, "equals b; the error would always be 0")

    @property
    def _embedded(self) -> tuple[tuple[Row, ...], Row]:
        """The rows and weights of the embedded method, which may use the slope at the new state."""
        a, b, weights = _rows(self.a), _row(self.b), _row(self.b_embedded)
        return (*a, b) if len(weights) > len(b) else a, weights

    @property
    def method(self) -> Tableau:
        """The method as the integrator uses it."""
        error_order = min(self.order, order_of(*self._embedded)) + 1 if self.b_embedded else self.order
        rows = (_rows(self.a), _row(self.b), _row(self.c), _row(self.b_embedded))
        return Tableau("tableau", error_order, *rows)


def _row(values: Sequence[Any]) -> Row:
    return tuple(map(Fraction, values))


def _rows(rows: Sequence[Sequence[Any]]) -> tuple[Row, ...]:
    return tuple(map(_row, rows))


def _dot(xs: Sequence[Fraction], ys: Sequence[Fraction]) -> Fraction:
    total = Fraction(0)
    for x, y in zip(xs, ys, strict=True):
        total += x * y
    return total


@functools.lru_cache(maxsize=64)
def order_of(a: tuple[Row, ...], b: Row) -> int:
    """Return the order of a method, at most `MAX_ORDER`."""
    for order in range(1, MAX_ORDER + 1):
        for tree in trees(order):
            if abs(_dot(b, _weights(tree, a)) - Fraction(1, _density(tree)[0])) > ROUNDING:
                return order - 1
    return MAX_ORDER


@functools.cache
def trees(order: int) -> tuple[Tree, ...]:
    """Return the rooted trees with a number of nodes."""

    def forests(nodes: int, largest: int) -> list[Tree]:
        if nodes == 0:
            return [()]
        return [
            (tree, *rest)
            for size in range(min(nodes, largest), 0, -1)
            for tree in trees(size)
            for rest in forests(nodes - size, size)
        ]

    return tuple(sorted({tuple(sorted(forest)) for forest in forests(order - 1, order - 1)}))


def _density(tree: Tree) -> tuple[int, int]:
    """Return γ(t) and the number of nodes."""
    nodes, density = 1, 1
    for branch in tree:
        inner, count = _density(branch)
        nodes, density = nodes + count, density * inner
    return density * nodes, nodes


def _weights(tree: Tree, a: tuple[Row, ...]) -> list[Fraction]:
    """Return Φ_i(t) of each slope i."""
    values = [Fraction(1)] * len(a)
    for branch in tree:
        inner = _weights(branch, a)
        values = [value * _dot(row, inner[: len(row)]) for value, row in zip(values, a, strict=True)]
    return values
