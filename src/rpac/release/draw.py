"""The draw of the secret world, and of the noise on its integers. Nothing here has a seed."""

from __future__ import annotations

from typing import Any

from rpac._base.checks import refuse
from rpac._base.hashing import fingerprint
from rpac._base.types import Floats, Ints
from rpac.noise.base import Releasable, integer_table, look_up, system_uniforms
from rpac.worlds.source import Draws, Source, Subsets


def draw_world(weights: Floats) -> int:
    """Return the index of the secret world, drawn from the prior by the operating system."""
    return int(look_up(integer_table(weights), system_uniforms(1))[0])


def draw_among(weights: Floats, places: list[int] | None) -> int:
    """Return the index of a world drawn from the prior, among some places if they are given."""
    return draw_world(weights) if places is None else places[draw_world(weights[places])]


def noisy_codes(codes: Ints, law: Releasable, *, allow_exact: bool = False) -> Ints:
    """Return the (r,) released integers of one output: one draw of the law.

    Raises:
        InputError: If the law has no noise and nobody allowed that: the last line before release.
    """
    if not (law.power > 0 or allow_exact):
        raise refuse("noise of positive power", law.power, "A bare release needs allow_exact=True.")
    return law.noisy(codes)


def add_noise(codes: Ints, law: Releasable, *, allow_exact: bool = False) -> Floats:
    """Return the (d,) released numbers of one output's (r,) integers, with noise."""
    return law.decode(noisy_codes(codes, law, allow_exact=allow_exact))


def given_worlds(source: Source, secret: Any) -> list[int] | None:
    """Return the worlds that equal a given secret; None for an open distribution."""
    if isinstance(source, Draws):
        return None
    if isinstance(source, Subsets):
        raise refuse("a drawn half-sample", "a given one", "List the secrets in rpac.Worlds.")
    mark = fingerprint(secret)
    found = [i for i, world in enumerate(source.worlds(0)) if fingerprint(world) == mark]
    if not found:
        raise refuse("a secret among the worlds", "another", "The prior must know it: list it.")
    return found
