"""What does not fit is refused with a next move, before anything is allocated."""

import pytest

import rpac
from rpac._base.room import fit, room


def test_what_fits_passes_and_what_does_not_is_named():
    fit(0, "nothing", "Do nothing.")
    fit(room(), "as much as there is", "Do nothing.")
    with pytest.raises(
        rpac.TooLarge, match=r"Expected a table within .* GiB; got .* GiB\. Halve it"
    ):
        fit(room() + 1, "a table", "Halve it.")
    assert issubclass(rpac.TooLarge, rpac.InputError)
