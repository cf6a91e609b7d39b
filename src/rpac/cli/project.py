"""The project file: tables, unit, caps and ledger, in TOML."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rpac._base.checks import refuse
from rpac._base.types import Json
from rpac.cli.schema import read_schema


class SchemaColumn(BaseModel):
    """What is declared of a column: public, never read off rows. Fields as in `Declared`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    type: Literal["number", "text", "date"] | None = None
    floor: float = 1.0
    step: float | None = None
    low: float | None = None
    high: float | None = None
    middle: float | None = None
    domain: list[str | int | float | bool] | None = None


class Project(BaseModel):
    """What a question is asked about. Paths are relative to the project file.

    Attributes:
        tables: CSV or Parquet files by table name.
        unit: "table.column", "column" or "rows".
        protect: "person", or "sample": see `--protect`.
        caps: Under *person*: [low, high] of a person's entries by column; rows = 5.
        middle: What averages are counted from, by column; a list for `answer`.
        columns: What is declared of columns: `schema` in the file, or there the path of a public
            CSV that says it.
        size: About how many people there are.
        way: How a function is asked.
        blocks: Number of blocks.
        links: Foreign keys, {"child.column": "parent.column"}.
        public: Public tables, and columns whose entries may be named as groups.
        keys: Declared groups by column.
        worlds: Number of half-samples.
        seed: Which half-samples they are.
        ledger: File or URL of the ledger.
        cap: Nats that all releases together may leak; for a new ledger.
        dataset: Name of the data in the ledger.
        analyst: Who asks.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    tables: dict[str, str] = Field(min_length=1)
    unit: str
    protect: Literal["person", "sample"] = "person"
    caps: dict[str, Any] = {}
    middle: dict[str, Any] = {}
    columns: dict[str, SchemaColumn] = Field(default={}, alias="schema")
    size: int | None = Field(default=None, ge=1)
    way: Literal["auto", "contributions", "blocks", "leave-one-out"] = "auto"
    blocks: int | None = Field(default=None, ge=2)
    links: dict[str, str] = {}
    public: list[str] = []
    keys: dict[str, list[str | int | float | bool]] = {}
    worlds: int = Field(default=512, ge=2)
    seed: int = Field(default=0, ge=0)
    ledger: str | None = None
    cap: float | None = Field(default=None, gt=0)
    dataset: str = ""
    analyst: str = ""

    @classmethod
    def load(cls, path: str | Path) -> Project:
        """Read a project file; what is wrong in it is said with its place."""
        file = Path(path)
        try:
            values = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise refuse(
                f"a project file {file.name!r}", _what(error), "See docs/command-line.md."
            ) from None
        base = file.parent
        if isinstance(values.get("schema"), str):
            values["schema"] = read_schema(base / values["schema"])
        made = cls.checked(values, lambda at: f"{at!r} in {file.name}", "Fix that entry.")
        made.tables = {name: str(base / at) for name, at in made.tables.items()}
        if made.ledger is not None and "://" not in made.ledger:
            made.ledger = str(base / made.ledger)
        return made

    @classmethod
    def checked(cls, values: Json, place: Callable[[str], str], move: str) -> Project:
        """Return a project of these values, or refuse the first that is wrong.

        Args:
            values: By field.
            place: Returns how a field is called where it was written.
            move: What to do about it.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first: Any = error.errors()[0]
            at = place(".".join(map(str, first["loc"])))
            given = "nothing" if first["type"] == "missing" else repr(first["input"])[:80]
            raise refuse(f"a valid {at}", f"{given} ({first['msg']})", move) from None


def _what(error: Exception) -> str:
    """Return why a file is no TOML, and where; never its text, which may be that of the data."""
    if isinstance(error, OSError):
        return str(error.strerror)
    place = re.search(r"\(at [^()]*\)$", str(error))
    return f"a {type(error).__name__}" + (f" {place[0]}" if place else "")
