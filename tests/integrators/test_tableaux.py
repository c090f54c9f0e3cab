"""The tableaux satisfy their order conditions exactly."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from px4lockstep.integrators.tableaux import TABLEAU, TABLEAUX


def trees(order):
    """Return the rooted trees with the given number of nodes, as sorted tuples of subtrees."""
    if order == 1:
        return [()]
    found = set()

    def fill(remaining, largest, children):
        if remaining == 0:
            found.add(tuple(sorted(children)))
        for size in range(min(remaining, largest), 0, -1):
            for tree in trees(size):
                fill(remaining - size, size, [*children, tree])

    fill(order - 1, order - 1, [])
    return sorted(found)


def size_of(tree):
    return 1 + sum(map(size_of, tree))


def density(tree):
    result = size_of(tree)
    for child in tree:
        result *= density(child)
    return result


def weights(tree, a):
    """Return the elementary weight vector Φ_i(t): the product over subtrees of Σ_j a_ij Φ_j."""
    stages = range(len(a))
    values = [Fraction(1)] * len(a)
    for child in tree:
        inner = weights(child, a)
        values = [values[i] * sum(a[i][j] * inner[j] for j in range(len(a[i]))) for i in stages]
    return values


@pytest.mark.parametrize("tableau", TABLEAUX.values(), ids=list(TABLEAUX))
def test_order_conditions_hold_exactly_up_to_the_order_of_the_method(tableau):
    """Σ b_i Φ_i(t) = 1/γ(t) for all rooted trees with up to `order` nodes (Butcher 1963)."""
    failures = {order: [] for order in range(1, tableau.order + 2)}
    for order in failures:
        for tree in trees(order):
            total = sum(b * value for b, value in zip(tableau.b, weights(tree, tableau.a), strict=True))
            if total != Fraction(1, density(tree)):
                failures[order].append(tree)
    assert not any(failures[order] for order in range(1, tableau.order + 1))
    assert failures[tableau.order + 1]


@pytest.mark.parametrize("tableau", TABLEAUX.values(), ids=list(TABLEAUX))
def test_the_rows_of_a_tableau_add_up(tableau):
    """Σ_j a_ij = c_i, and the weights of the error estimate add up to 0."""
    for row, c in zip(tableau.a, tableau.c, strict=True):
        assert sum(row, Fraction(0)) == c
    assert sum(tableau.e, Fraction(0)) == 0


@pytest.mark.parametrize("name", ["RK23", "RK45"])
def test_the_embedded_method_is_one_order_lower(name):
    """With the slope at the new state as its last stage, it satisfies the conditions up to order − 1 only."""
    tableau = TABLEAUX[name]
    a = (*tableau.a, tableau.b)
    for order in range(1, tableau.order + 1):
        holds = [
            sum(b * value for b, value in zip(tableau.b_embedded, weights(tree, a), strict=True))
            == Fraction(1, density(tree))
            for tree in trees(order)
        ]
        assert all(holds) == (order < tableau.order)


def test_the_number_of_rooted_trees_is_correct():
    """1, 1, 2, 4, 9, 20: the tests above check all conditions."""
    assert [len(trees(order)) for order in range(1, 7)] == [1, 1, 2, 4, 9, 20]


@pytest.mark.parametrize("tableau", TABLEAUX.values(), ids=list(TABLEAUX))
def test_records_hold_the_nearest_doubles(tableau):
    """Row n_stages of `a` is b; everything else is 0."""
    written = np.zeros(1, TABLEAU)[0]
    tableau.write(written)
    rows = (*tableau.a, tableau.b)
    for i, j in product(range(7), range(7)):
        expected = float(rows[i][j]) if i < len(rows) and j < len(rows[i]) else 0.0
        assert written["a"][i, j] == expected
    assert written["n_stages"] == len(tableau.b)
    assert written["n_error_slopes"] == len(tableau.e)
