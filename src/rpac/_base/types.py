"""Array aliases. Shapes are given in docstrings: m worlds, d output coordinates, n draws."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Table: TypeAlias = NDArray[np.uint64]
Bools: TypeAlias = NDArray[np.bool_]
Json: TypeAlias = dict[str, Any]
