"""The array aliases mean what their names say."""

import typing

import numpy as np

from rpac._base import types


def test_aliases_name_one_element_type_each():
    expected = {"Floats": np.float64, "Ints": np.int64, "Table": np.uint64, "Bools": np.bool_}
    for name, element in expected.items():
        _, dtype = typing.get_args(getattr(types, name))
        assert typing.get_args(dtype) == (element,)
