"""A place for a new ledger, of either kind."""

import itertools

import pytest

NUMBER = itertools.count()


@pytest.fixture(params=["sqlite", "postgres"])
def where(request, folder):
    """The same contract for both: a place for a new ledger."""
    if request.param == "sqlite":
        return f"{folder}/ledger.db"
    return request.getfixturevalue("database")(f"ledger{next(NUMBER)}")
