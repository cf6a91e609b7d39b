"""The code blocks of pages in Markdown, executed as a reader would: in order, in one folder.

A page is one program. Its Python blocks share their names; blocks with `>>>` also have to print
what they show. Commands run in the same folder, in which `staff.csv` lies. What one brings along
stands before a block in a comment, and is executed too; a comment says why a block is not:

    <!-- given:            <!-- not run: needs a server of one's own -->
    import numpy as np
    -->

What is not run is read at least: Python compiles, commands and their options exist. A block after
`<!-- slow: reason -->` runs only where slow ones are wanted (`make docs`).
"""

import contextlib
import doctest
import io
import re
import shlex
import tomllib
from dataclasses import dataclass

import typer

from rpac.cli.program import app, main
from tests.conftest import ROOT

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PIECE = re.compile(
    r"^<!-- given:\n(?P<given>.*?)^-->$"
    r"|^(?:<!-- (?P<kind>not run|slow): (?P<reason>[^\n]+) -->\n+)?"
    r"^(?P<fence>```+)(?P<language>[^\n]*)\n(?P<text>.*?)^(?P=fence)\s*$",
    re.M | re.S,
)
TARGETS = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M))
COMMANDS = typer.main.get_command(app).commands


@dataclass(frozen=True)
class Block:
    """A piece of a page: its language, text and first line, and why it is not run."""

    language: str
    text: str
    line: int
    reason: str | None = None
    slow: bool = False


def blocks(page):
    """Return the blocks of a page, those in comments included."""
    found = []
    for piece in PIECE.finditer(page):
        group = "text" if piece["given"] is None else "given"
        line = page.count("\n", 0, piece.start(group)) + 1
        language = (piece["language"] or "").strip() if group == "text" else "python"
        slow = piece["kind"] == "slow"
        found.append(Block(language, piece[group], line, piece["reason"], slow))
    return found


def typed(block):
    """Return the commands of a block, as lists of words; `console` has a prompt, `sh` has none."""
    lines = re.sub(r"\\\n\s*", "", block.text).splitlines()
    if block.language == "console":
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def read_command(words):
    """Fail unless a command is one of rpac's, with options that it has, or in the Makefile."""
    if words[0] == "make":
        assert words[1] in TARGETS, f"no target {words[1]}"
        return
    assert words[0] == "rpac", f"not a command of rpac: {shlex.join(words)}"
    known = {name for p in COMMANDS[words[1]].params for name in (*p.opts, *p.secondary_opts)}
    for word in words[2:]:
        assert not word.startswith("--") or word.split("=")[0] in known, f"no option {word}"


def run_command(words):
    """Run a command of rpac in this process, and fail unless it ends well."""
    read_command(words)
    if words[0] == "make":  # tried by tests of their own, or too long
        return
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words[1:])
    assert code == 0, f"{shlex.join(words)}\n{err.getvalue()}"


def run_python(block, name, space):
    """Execute a block, or hold what it shows against what is printed."""
    if not block.text.startswith(">>> "):
        code = compile("\n" * (block.line - 1) + block.text, name, "exec")
        exec(code, space)
        return
    assert block.text.endswith("\n\n"), f"{name}:{block.line}: a blank line ends the last output"
    test = doctest.DocTestParser().get_doctest(block.text, {}, name, name, block.line - 1)
    test.globs = space
    said = io.StringIO()
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.write, clear_globs=False)
    assert result.failed == 0, said.getvalue()


def read(block, name):
    """Fail unless a block that is not run could be."""
    if block.language == "python":
        shown = doctest.script_from_examples(block.text) if ">>> " in block.text else block.text
        compile(shown, f"{name}:{block.line}", "exec")
    for words in typed(block) if block.language in ("sh", "console") else []:
        if words[0] in ("rpac", "make"):
            read_command(words)


def run(page, name, space=None, *, slow=False):
    """Execute all blocks of a page in the current folder; `name` is for messages."""
    space = {"__name__": "__main__"} if space is None else space
    for block in blocks(page):
        if block.reason and not (block.slow and slow):
            read(block, name)
        elif block.language == "python":
            run_python(block, name, space)
        elif block.language in ("sh", "console"):
            for words in typed(block):
                run_command(words)
        elif block.language == "toml":
            tomllib.loads(block.text)
        else:
            expected = "python, console, sh, toml, sql, json, text"
            assert block.language in expected.split(", "), (
                f"{name}:{block.line}: say one of {expected}"
            )
