"""Execute the tutorials, and write each as a page: text, code, what was printed, pictures.

A tutorial is a plain Python file. Lines that begin with `# ` after `# %% [markdown]` are text, what
follows `# %%` is code. Each file runs once, in a process and a folder of its own, cell by cell.
"""

import ast
import contextlib
import linecache
import os
import re
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path

MARK = re.compile(r"^# %%[ ]*(\[markdown\])?.*$", re.M)
SHARED = Path(__file__).resolve().parents[2] / "shared"
SECONDS = 600
"""How long a tutorial may take."""


@dataclass(frozen=True)
class Cell:
    """A part of a tutorial: its text, whether it is prose, and the line on which it begins."""

    text: str
    prose: bool
    line: int


def cells(source):
    """Return the cells of a tutorial; a docstring before the first mark is for the linter alone."""
    marks = list(MARK.finditer(source))
    if not marks:
        raise ValueError("Expected cells that begin with '# %%' or '# %% [markdown]'; got none.")
    found = []
    before = source[: marks[0].start()]
    if any(not isinstance(node, ast.Expr) for node in ast.parse(before).body):
        found.append(Cell(before.strip("\n"), prose=False, line=1))
    for mark, after in zip(marks, [*marks[1:], None], strict=True):
        text = source[mark.end() : after.start() if after else len(source)]
        line = source.count("\n", 0, mark.end()) + 1
        if mark[1]:
            text = re.sub(r"^# ?", "", text, flags=re.M)
        if text.strip():
            found.append(Cell(text.strip("\n"), prose=bool(mark[1]), line=line + _leading(text)))
    return found


def _leading(text):
    return len(text) - len(text.lstrip("\n"))


def fenced(text, language):
    """Return text as a block of code; the fence is longer than any in the text."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", text)), 3)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def code_only(path):
    """Return the page of a tutorial that was not executed."""
    parts = ['!!! warning "Not executed"', "    The data of this tutorial were not found here.", ""]
    for cell in cells(path.read_text()):
        parts.append(f"{cell.text}\n" if cell.prose else fenced(cell.text, "python"))
    return "\n".join(parts)


def run(path, folder):
    """Execute a tutorial in this process, and write its page and pictures into a folder."""
    space = {"__name__": "__main__"}
    parts, name = [], path.stem
    linecache.cache[str(path)] = (0, None, path.read_text().splitlines(keepends=True), str(path))
    for number, cell in enumerate(cells(path.read_text()), 1):
        if cell.prose:
            parts.append(f"{cell.text}\n")
            continue
        parts.append(fenced(cell.text, "python"))
        try:
            with printed() as out:
                last = _execute(cell, str(path), space)
                if last is not None and not _is_figure(last):
                    print(repr(last))
        except BaseException:
            _fail(path, number, cell)
        if out.text.strip():
            parts.append(fenced(out.text, "{ .text .printed }"))
        parts += pictures(folder, f"{name}-{number}", last)
    (folder / f"{name}.md").write_text("\n".join(parts))


def _execute(cell, name, space):
    """Execute a cell, and return the value of its last expression."""
    tree = ast.parse("\n" * (cell.line - 1) + cell.text, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), space)
    return eval(compile(ast.Expression(last.value), name, "eval"), space) if last else None


def _fail(path, number, cell):
    kind, error, trace = sys.exc_info()
    own = [frame for frame in traceback.extract_tb(trace) if frame.filename != __file__]
    lines = [*traceback.format_list(own), *traceback.format_exception_only(kind, error)]
    print(f"{path}:{cell.line}: cell {number} failed\n{''.join(lines)}", file=sys.stderr)
    sys.exit(1)


class _Text:
    text = ""


@contextlib.contextmanager
def printed():
    """Collect what is printed, by programs that are called as well."""
    out = _Text()
    with tempfile.TemporaryFile() as file:
        sys.stdout.flush()
        before = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            yield out
        finally:
            sys.stdout.flush()
            os.dup2(before, 1)
            os.close(before)
            file.seek(0)
            out.text = file.read().decode()


def pictures(folder, name, last):
    """Save and close every open figure, and one that stands last; return what shows them."""
    if "matplotlib" not in sys.modules:
        return []
    from matplotlib import pyplot

    shown, drawn = [], [pyplot.figure(number) for number in pyplot.get_fignums()]
    if _is_figure(last) and last not in drawn:
        drawn.append(last)
    for at, figure in enumerate(drawn, 1):
        file = f"{name}-{at}.svg"
        figure.savefig(folder / file, bbox_inches="tight", facecolor="white")
        words = figure.get_label() or (figure.axes[0].get_title() if figure.axes else "")
        shown.append(f"![{words or 'what the code above draws'}]({file}){{ .figure }}\n")
    pyplot.close("all")
    return shown


def _is_figure(value):
    """Return whether a value is a figure of its own: rpac's are, outside of any window."""
    if "matplotlib" not in sys.modules:
        return False
    from matplotlib.figure import Figure

    return isinstance(value, Figure)


def needs_data(path):
    """Return whether a tutorial reads the data sets."""
    return "RPAC_DATA" in path.read_text()


def execute(path, folder):
    """Execute a tutorial in a process of its own; return what went wrong, or nothing."""
    data = Path(os.environ.get("RPAC_DATA", SHARED / "data"))
    if needs_data(path) and not data.is_dir():
        print(f"SKIPPED, NOT EXECUTED: {path.name} (no data in {data}; set RPAC_DATA)", flush=True)
        (folder / f"{path.stem}.md").write_text(code_only(path))
        return ""
    root = str(Path(__file__).resolve().parents[1])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    with tempfile.TemporaryDirectory() as own:
        settings = {
            "RPAC_DATA": str(data), "MPLBACKEND": "Agg", "XDG_STATE_HOME": own,
            "PYTHONPATH": os.pathsep.join(paths),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "website.tutorials", path.resolve(), folder.resolve()],
            cwd=own, env={**os.environ, **settings}, capture_output=True, text=True,
            timeout=SECONDS, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    return done.stderr if done.returncode else ""


def execute_all(folder, pages):
    """Execute the tutorials of a folder; return what went wrong, a text for each that failed."""
    pages.mkdir(parents=True, exist_ok=True)
    failures = [execute(path, pages) for path in sorted(folder.glob("*.py"))]
    return [failure for failure in failures if failure]


if __name__ == "__main__":
    run(Path(sys.argv[1]), Path(sys.argv[2]))
