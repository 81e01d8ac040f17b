"""Retention: with whatever constants a type may have, nothing is remembered better with time."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryhub.types.cognitive import BadCognitiveType, Decay

CONSTANTS = st.tuples(
    st.floats(1e-6, 1e6), st.timedeltas(timedelta(microseconds=1), timedelta(days=36500)), st.floats(0, 50)
)
AGES = st.timedeltas(timedelta(days=-10), timedelta(days=365_000))


@given(constants=CONSTANTS, one=AGES, other=AGES)
def test_retention_never_rises(constants: tuple[float, timedelta, float], one: timedelta, other: timedelta) -> None:
    decay = Decay(*constants)
    younger, older = sorted((one, other))
    assert 0 <= decay.retain(older) <= decay.retain(younger) <= 1
    assert decay.retain(timedelta(0)) == min(1.0, decay.a) == decay.retain(-abs(one))


@given(constants=CONSTANTS, age=AGES.filter(lambda age: age > timedelta(0)))
def test_retention_is_the_power_law(constants: tuple[float, timedelta, float], age: timedelta) -> None:
    a, tau, b = constants
    expected = min(1.0, math.exp(math.log(a) - b * math.log1p(age / tau)))
    assert math.isclose(Decay(a, tau, b).retain(age), expected, rel_tol=1e-6, abs_tol=1e-300)


@pytest.mark.parametrize("a", [0, -1, math.nan, math.inf])
def test_a_share_is_more_than_nothing(a: float) -> None:
    with pytest.raises(BadCognitiveType):
        Decay(a=a, tau=timedelta(days=1), b=1)


@pytest.mark.parametrize("b", [-0.001, math.nan, math.inf])
def test_an_exponent_does_not_rise(b: float) -> None:
    with pytest.raises(BadCognitiveType):
        Decay(a=1, tau=timedelta(days=1), b=b)


@pytest.mark.parametrize("tau", [timedelta(0), timedelta(days=-1)])
def test_a_pace_is_a_period(tau: timedelta) -> None:
    with pytest.raises(BadCognitiveType):
        Decay(a=1, tau=tau, b=1)
