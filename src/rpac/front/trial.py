"""The class `Trial`: what `rpac.debug` found, for the owner of the data alone."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import final

from rpac._base.progress import in_words
from rpac._base.sealed import Sealed
from rpac.pictures.text import aligned

MARK = "OWNER ONLY, DO NOT PUBLISH: nothing was released, charged or written"
"""The first line of what is shown."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class Trial(Sealed):
    """What a function did when it was tried. For the owner alone; never an answer.

    Attributes:
        function: Its name.
        on: What it was tried on, in words.
        answer: The form of its answer in words, without a number of it; "" if there was none.
        traceback: What it raised, in full; "" if nothing.
        problems: What else stands in the way of a release, in the words of a refusal.
        seconds: How long a call took.
        runs: How many calls a release needs: worlds, blocks; None where nobody knows.
        agrees: Whether a second call gave the same answer; None where there was none.
        changed: Columns that it changed in the table that it was given.
        reads: Columns that the answer depends on; None where that was not looked for.
        warned: Its warnings, each once.
    """

    function: str
    on: str
    answer: str = ""
    traceback: str = ""
    problems: tuple[str, ...] = ()
    seconds: float = 0.0
    runs: int | None = None
    agrees: bool | None = None
    changed: tuple[str, ...] = ()
    reads: tuple[str, ...] | None = None
    warned: tuple[str, ...] = ()

    @property
    def fine(self) -> bool:
        """Whether nothing was found that stands in the way of a release."""
        return not (self.traceback or self.problems)

    def lines(self) -> list[tuple[str, str]]:
        """Return what was found as label and text."""
        took = f"{in_words(self.seconds)} a call of the function alone"
        if self.runs is not None:
            took += f", {self.runs} calls: about {in_words(self.runs * self.seconds)}"
        same = {True: "the same answer", False: "another answer", None: "not asked"}[self.agrees]
        columns = "not looked for" if self.reads is None else ", ".join(self.reads) or "none"
        found = [
            ("function", self.function), ("tried on", self.on), ("answer", self.answer or "none"),
            ("time", took), ("asked again", same),
            ("its table", f"changed: {', '.join(self.changed)}" if self.changed else "as it was"),
            ("columns read", columns),
        ]  # fmt: skip
        found += [("warned", text) for text in self.warned]
        return found + [("problem", text) for text in self.problems]

    def __str__(self) -> str:
        text = f"{MARK}\n\n{aligned(self.lines())}"
        return f"{text}\n\n{self.traceback}" if self.traceback else text

    def __repr__(self) -> str:
        found = "an error" if self.traceback else f"{len(self.problems)} problems"
        return f"Trial({'nothing in the way' if self.fine else found}; print it: owner only)"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"
