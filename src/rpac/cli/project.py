"""The project file: tables, unit, caps and books, in TOML."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rpac._base.checks import refuse


class Project(BaseModel):
    """What a question is asked about. Paths are relative to the project file.

    Attributes:
        tables: CSV or Parquet files by table name.
        unit: "table.column", "column" or "rows".
        links: Foreign keys, {"child.column": "parent.column"}.
        public: Public tables, and columns whose entries may be named as groups.
        keys: Declared groups by column.
        worlds: Number of half-samples.
        seed: Which half-samples they are.
        ledger: File or URL of the books.
        cap: Nats that all releases together may leak; for a new ledger.
        dataset: Name in the books.
        analyst: Who asks.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    tables: dict[str, str] = Field(min_length=1)
    unit: str
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
            made = cls.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
        except ValidationError as error:
            first: Any = error.errors()[0]
            at = ".".join(map(str, first["loc"])) or "the file"
            raise refuse(
                f"a valid {at!r} in {file.name}", first["msg"], "Mend that line."
            ) from None
        except (OSError, ValueError) as error:
            kind = f"a {type(error).__name__}"
            raise refuse(
                f"a project file {file.name!r}", kind, "See docs/command-line.md."
            ) from None
        base = file.parent
        made.tables = {name: str(base / at) for name, at in made.tables.items()}
        if made.ledger is not None and "://" not in made.ledger:
            made.ledger = str(base / made.ledger)
        return made
