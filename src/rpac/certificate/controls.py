"""Control variates of a deficit: what is known of a world and its noise before anything is drawn.

A deficit D = h_i - (g_i(b) + g_i(-b)) / 2 is about b' C_i b / 2 with C_i = -g_i''(0), the
covariance of what cannot be told apart at u_i. Three numbers come with each draw,

    min(b' C_i b, limit_i),    min(|b|^2, limit),    -h_i,

whose means are known up to what clipping loses (`form_limit`), and whose range is known. The proofs
use no more of C_i than that it is positive semi-definite and fixed before the draws; so where its
largest eigenvalue lies above that of most worlds, it is scaled down, which keeps the range short.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpac._base.types import Floats, Ints
from rpac.certificate.kernel import TAIL, Kernel, form_limit
from rpac.certificate.references import MixtureReference, blocks

MOST_FORMS = 20_000
"""Worlds beyond which heights are not worked out, as m^2 kernels would take too long."""
MOST_AXES = 16
"""Axes beyond which quadratic forms are not worked out: they take m^2 r^2 / 2."""
_MOST_WORLDS = 0.9
"""Share of the worlds whose quadratic forms are left as they are."""


@dataclass(frozen=True)
class Controls:
    """Control variates of worlds, with what is known of them.

    Attributes:
        heights: (m,) upper bounds of (g_i(b) + g_i(-b)) / 2.
        forms: (m, r, r) positive semi-definite; (m, 0, 0) where they are not worked out.
        limits: (m,) where the forms are clipped.
        means: (2, 3) lower and upper bounds of the controls' means.
        ends: (2, 3) the least and the largest values they can take.
    """

    heights: Floats
    forms: Floats
    limits: Floats
    means: Floats
    ends: Floats

    @classmethod
    def of(cls, mixture: MixtureReference, kernel: Kernel, worlds: Ints, p: Floats) -> Controls:
        """Return the controls of some of the mixture's worlds, drawn with weights p."""
        heights, forms, largest = _known(mixture, worlds)
        limits = form_limit(np.trace(forms, axis1=1, axis2=2), largest)
        known = np.diagonal(forms, axis1=1, axis2=2) @ kernel.variances[: forms.shape[1]]
        _, length, longest = kernel.lengths(np.zeros((1, kernel.variances.size)))
        lost, tall = TAIL * float(p @ largest), float(p @ heights)
        low = [float(p @ known) - 1.01 * lost, length, -tall]
        high = [float(p @ known) + 0.01 * lost, length + 1.02 * TAIL, -tall]
        ends = [[0.0, 0.0, -heights.max()], [limits.max(), longest, -heights.min()]]
        return cls(heights, forms, limits, np.array([low, high]), np.array(ends))

    def at(self, kernel: Kernel, worlds: Ints, noise: Floats) -> Floats:
        """Return the controls, (n, 3), of (n,) worlds and (n, r) noise."""
        form, axes = np.empty(len(worlds)), self.forms.shape[1]
        for rows in blocks(len(worlds), axes**2 + 1):
            b = noise[rows, :axes]
            form[rows] = np.einsum("nr,nrs,ns->n", b, self.forms[worlds[rows]], b, optimize=True)
        form = np.clip(form, 0.0, self.limits[worlds])
        return np.stack([form, kernel.lengths(noise)[0], -self.heights[worlds]], axis=1)


def _known(mixture: MixtureReference, worlds: Ints) -> tuple[Floats, Floats, Floats]:
    """Return heights, forms and bounds of the forms' eigenvalues, as far as they are worked out."""
    none = np.zeros((len(worlds), 0, 0)), np.zeros(len(worlds))
    if len(mixture.points) > MOST_FORMS:
        return -np.log(mixture.weights[worlds]), *none
    if mixture.points.shape[1] > MOST_AXES:
        return mixture.heights(worlds), *none
    heights, forms = mixture.views(worlds)
    largest = np.linalg.eigvalsh(forms)[:, -1] * (1 + 1e-9)
    ordinary = np.quantile(largest, _MOST_WORLDS)
    scale = np.minimum(1.0, ordinary / np.maximum(largest, 1e-300))
    return heights, forms * scale[:, None, None], largest * scale
