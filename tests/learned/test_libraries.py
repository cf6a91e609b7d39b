"""The extra `neural`: where it is missing, what is missing and what to run is said."""

import importlib.util

import numpy as np
import pytest

import rpac
from rpac.learned.libraries import LIBRARIES, require_neural


@pytest.fixture
def without(monkeypatch):
    """Pretend that some libraries are not installed."""
    present = importlib.util.find_spec

    def hide(*names):
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name: None if name in names else present(name)
        )

    return hide


def test_what_is_missing_is_named(without):
    without("optax", "flowjax")
    message = r"Expected the libraries .*; got no optax, flowjax\. Run: pip install 'rpac\[neural\]"
    with pytest.raises(rpac.InputError, match=message):
        require_neural()


def test_every_library_is_needed(without):
    for name in LIBRARIES:
        without(name)
        with pytest.raises(rpac.InputError, match=f"got no {name}"):
            require_neural()


def test_learned_methods_say_so_before_any_work(without):
    without("jax")
    outputs, noise = rpac.Outputs(np.eye(3)), rpac.GaussianNoise(np.eye(3))
    for method in ("sr-pac", "sliced-sr-pac"):
        with pytest.raises(rpac.InputError, match="got no jax"):
            rpac.calibrate(outputs, 0.5, method=method)
    with pytest.raises(rpac.InputError, match="got no jax"):
        rpac.decoder_attack(outputs, noise)
    with pytest.raises(rpac.InputError, match="got no jax"):
        rpac.joint_play([outputs], 0.5)
