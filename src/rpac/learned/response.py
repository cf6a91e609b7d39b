"""The follower on some worlds: trained once more at a given noise, judged on held-out draws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import jax
import numpy as np

from rpac._base.checks import refuse
from rpac.calibrators.closed_form import principal
from rpac.certificate.confidence import lower_mean
from rpac.certificate.sampled import FLOOR
from rpac.learned.decoders import Decoder, Table, decoder_of, make_table
from rpac.learned.families import Family, Params, family_of
from rpac.learned.frame import Frame, frame_under
from rpac.learned.play import Attack
from rpac.learned.training import best_response, held_out
from rpac.noise.base import Noise, integer_table, look_up, study_uniforms
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import GridNoise, narrowed
from rpac.worlds.outputs import Outputs

_LEARNING, _JUDGING = 40_000, 40_000


def world_table(outputs: Outputs, frame: Frame, decoder: str) -> Table:
    """Return what the players know: outputs, prior, and what the decoder guesses."""
    secrets = frame.points / np.maximum(frame.points.std(axis=0), 1e-12)
    if decoder == "bernoulli":
        if outputs.masks is None:
            raise refuse(
                "half-samples for a Bernoulli decoder", repr(outputs), 'Use decoder="kernel".'
            )
        secrets = outputs.masks.astype(np.float64)
    return make_table(frame.points, outputs.planning.weights, secrets)


@final
@dataclass(frozen=True, eq=False)
class Follower:
    """A decoder, and the worlds as it sees them.

    Attributes:
        name: The decoder's name.
        decoder: Its family of conditional laws.
        outputs: Finite worlds, or draws.
        frame: The coordinates it sees them in.
        table: The same for JAX, with what it guesses.
        seed: Study randomness.
    """

    name: str
    decoder: Decoder
    outputs: Outputs
    frame: Frame
    table: Table
    seed: int

    @classmethod
    def of(cls, name: str, family: Family, outputs: Outputs, frame: Frame, seed: int) -> Follower:
        """Return the decoder of that name on these worlds; a kernel is of the noise's family."""
        decoder = decoder_of(name, family)
        return cls(name, decoder, outputs, frame, world_table(outputs, frame, name), seed)

    def respond(self, params: Params, noise: Noise) -> Attack:
        """Train from `params` on at this noise, and judge on draws that were not trained on."""
        rng = np.random.default_rng([self.seed, 7])
        p = self.outputs.planning.weights
        n = _LEARNING + _JUDGING
        worlds = look_up(integer_table(p), study_uniforms(rng, n))
        draws = self.frame.noise(noise.sample(n, rng))
        learn = (worlds[:_LEARNING].astype(np.int32), draws[:_LEARNING].astype(np.float32))
        best = best_response(self.decoder, 400, 256, params, self.table, learn, self.seed)
        judge = (worlds[_LEARNING:], draws[_LEARNING:])
        log_posterior = held_out(self.decoder, best, self.table, *judge)
        log_p = np.log(p)[judge[0][: log_posterior.size]]
        gain = np.logaddexp(log_posterior - log_p + math.log1p(-FLOOR), math.log(FLOOR))
        lower = lower_mean(gain, math.log(FLOOR), float(-np.log(p.min())) + 1e-4, 1e-6)
        return Attack(float(gain.mean()), max(0.0, lower), self.name)


def fresh_response(outputs: Outputs, noise: Noise, decoder: str, seed: int) -> Attack:
    """Return the best response of an untrained decoder to this noise."""
    outputs, noise = narrowed(outputs, noise)
    normal = isinstance(noise, GaussianNoise) or (isinstance(noise, GridNoise) and noise.gaussian)
    family = family_of("gaussian" if normal else "mixture", 9)
    axes = noise.basis if isinstance(noise, GridNoise) and not normal else principal(outputs)[0]
    frame = frame_under(outputs, axes, noise)
    follower = Follower.of(decoder, family, outputs, frame, seed)
    return follower.respond(follower.decoder.init(jax.random.key(seed), follower.table), noise)
