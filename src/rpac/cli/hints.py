"""Refusals in the words of the command line: its options in place of arguments of Python."""

from __future__ import annotations

import re

_OTHER_METHOD = "Take another --method, such as equilibrium."
_SAID: tuple[tuple[str, str], ...] = (
    (r"keys=\{['\"](.*?)['\"]: \[[^]]*\](, \.\.\.)?\}", r"--keys '\1=a,b'"),
    (r"keys of '([^']*)'; got (.*?)\. List the public groups: keys=\[[^]]*\]",
     r"keys of '\1'; got \2. List the public groups: --keys '\1=a,b'"),
    (r"Such as keys=\[.*", "Such as --keys x=a,b."),
    (r"by blocks \(rpac\.Presence\(\.\.\., way='blocks'\)\), or of half-samples \(db\.source\)",
     "by blocks (--command, --way blocks), or of half-samples (--protect sample)"),
    (r"Pass the table itself: rpac\.Presence\(frame, unit=\.\.\.\)", "Name one file of rows"),
    (r"Declare one: rpac\.Presence\(\.\.\., middle=0\.0\), or a list or array of its shape",
     "Declare one: --middle answer=0, or answer=0,0 for two numbers"),
    (r"Ask (it )?in SQL(?: \(rpac\.Database\)|: rpac\.Database)", r"Ask \1in SQL (--sql)"),
    (r"Ask the database in SQL: db\.query\(\.\.\.\)", "Ask it with --sql"),
    (r"Audit a smaller pool, or use db\.presence", "Audit a smaller pool, or --protect person"),
    (r"Such as caps=\{\"rows\": 5\}", "Such as --caps rows=5"),
    (r"Such as caps=.*", "Such as --caps age=0:120, or --schema schema.csv."),
    (r"Such as \{\"age\": \(0, 120\)\}", "Such as --caps age=0:120"),
    (r"Such as instead=.*", "Leave it out."),
    (r", or pass unit=\"rows\"", ", or pass --unit rows"),
    (r"unit='rows'", "--unit rows"),
    (r"\((keys|public)\)", r"(--\1)"),
    (r"`(unit|keys|public|caps|middle|schema|worlds|blocks|size|way)`", r"--\1"),
    (r"`links`", "--link"),
    (r"columns in caps, middle and schema", "columns in --caps, --middle and --schema"),
    (r"Ledger\(\"ledger\.db\", budget=1\.0\)", "Say what all may leak: --cap 1"),
    (r"Pass ledger=rpac\.Ledger\(\.\.\.\)", "Pass --ledger"),
    (r", or trust_head=True, makes", " makes"),
    (r"trust_head=True", "`rpac ledger LEDGER --trust-head`"),
    (r"Or name a file for it: Ledger\(\.\.\., anchor=PATH\)", "Or set XDG_STATE_HOME"),
    (r"(Pass )?(method=)?rpac\.Equilibrium\(.*", _OTHER_METHOD),
    (r"Give fewer words: .*", _OTHER_METHOD),
    (r"Use rpac\.Worlds, or noise\.", _OTHER_METHOD),
    (r"[Uu]se method=\"([\w-]+)\"", r"Use --method \1"),
    (r"say n_jobs=(-?\d+)", r"say --jobs \1"),
    (r"run it here: n_jobs=1", "leave --executor out"),
    (r"Say rpac\.Executor\(.*", "Leave one of --jobs and --executor out."),
    (r"n_jobs or executor", "--jobs or --executor"),
    (r"n_jobs", "--jobs"),
    (r"Use rpac\.LatticeNoise\.", "Take another --method."),
)  # fmt: skip
"""What the library says, and what the command line says in its place; in this order."""


def on_the_command_line(text: str) -> str:
    """Return a refusal with options where the library names arguments.

    >>> on_the_command_line('Such as caps={"rows": 5}.')
    'Such as --caps rows=5.'
    """
    for said, instead in _SAID:
        text = re.sub(said, instead, text)
    return text
