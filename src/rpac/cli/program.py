"""The command line, and its exit codes: 0 done, 1 refused or an alarm, 2 usage error."""

from __future__ import annotations

import io
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpac.cli import options
from rpac.errors import ExactRelease, RpacError

if TYPE_CHECKING:
    from rpac.cli.commands import Result

app = typer.Typer(
    name="rpac",
    help="Publish answers about people with just enough noise, and a certificate that holds.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
COMMANDS: tuple[tuple[str, type[Any], str], ...] = (
    ("plan", options.Question,
     "Show price, errors and what remains. Spends nothing (but a refusal because of data is "
     "booked), and does not show the answer."),
    ("release", options.Releasing,
     "Charge the ledger, and print one privatized answer with its certificate."),
    ("audit", options.Attacking,
     "Attack the noise that a question would get, or read a record.json as an outsider would; "
     "exit 1 if a claim breaks or a defect is found. Spends nothing."),
    ("compare", options.Comparing,
     "Show budgets side by side, for a sample methods too: price and noise. Spends nothing."),
    ("verify", options.Reading, "Check a record, a certificate or a ledger for damage."),
    ("ledger", options.Accounting, "Show a ledger; set caps; export all entries."),
    ("recover", options.Recovering,
     "Write record and receipt of every charge that has no record, after a crash. Draws nothing, "
     "charges nothing and reads no data."),
    ("report", options.Rendering,
     "Turn a record into a report: one HTML file that needs no network."),
    ("paper", options.Reproducing,
     "Run an experiment of the Residual-PAC paper: tables, panels, and its printed figures."),
)  # fmt: skip
"""Name, options and purpose of every command; `rpac.cli.commands` has a function of each name."""


def _version(asked: Any) -> None:
    if asked:
        from importlib.metadata import version  # which takes a third of the time of `--help`

        print(f"rpac {version('rpac')}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    asked: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


class Interrupted(Exception):
    """Somebody pressed Ctrl-C; typer would turn that into an exit code without a word."""


def _perform(name: str, given: Any) -> int:
    """Run one command; what it needs is imported now, so that `--help` is quick."""
    try:
        if name == "paper":
            from rpac.cli.paper import paper as command
        else:
            from rpac.cli import commands

            command = getattr(commands, name)
        return _show(command(given), as_json=given.json)
    except KeyboardInterrupt:
        raise Interrupted from None


for _name, _record, _purpose in COMMANDS:
    app.command(_name, help=_purpose)(options.takes(_record, partial(_perform, _name)))


def _show(result: Result, *, as_json: bool) -> int:
    """Print what a command found, for people or for programs; then do what is left of it."""
    from rpac._base.sealed import publish

    code, more = result.code, ""
    print(publish(result.body, indent=1) if as_json else result.text, flush=True)
    if result.finish is not None:
        try:
            if result.printed is not None and not getattr(sys.stdout, "broken", False):
                result.printed()
            more = result.finish()
        except (Exception, KeyboardInterrupt) as error:  # the answer is paid for: it is shown
            reason = _told(error) if isinstance(error, RpacError) else _reason(error)
            text = f"The answer stands, but its record and reports are not complete: {reason}"
            print(text.rstrip("."), "- with the same --key a retry is free.", file=sys.stderr)
            code = 1
    if more and not as_json:
        print(f"\n{more}", flush=True)
    return code


def _told(error: RpacError) -> str:
    from rpac.cli.hints import on_the_command_line

    return on_the_command_line(str(error))


def _reason(error: BaseException) -> str:
    """Return what may be said of an error that may quote data."""
    return str(error.strerror) if isinstance(error, OSError) else type(error).__name__


@cache
def _command() -> Any:
    """Return the parser, built once."""
    return typer.main.get_command(app)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; return its exit code. No traceback reaches a user."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        if not all(map(str.isascii, words)):
            _whole(words)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExactRelease)  # a release without noise is refused
            found = _command()(args=words, standalone_mode=False)
        return found if found in (0, 1, 2) else 0 if found is None else 1
    except SystemExit as stop:
        return stop.code if stop.code in (0, 1, 2) else 1
    except (Interrupted, KeyboardInterrupt):
        return _fail(words, "Interrupted", "Interrupted. Nothing further was done.", 1)
    except Exception as error:
        return _explain(error, words)


def _whole(words: list[str]) -> None:
    """Refuse bytes that are no characters before anything is charged: no record could hold them."""
    from rpac._base.checks import whole_characters

    whole_characters(words, "words of the command line")


def _explain(error: Exception, words: list[str]) -> int:
    """Print what went wrong, in one of three ways; return the exit code."""
    if hasattr(error, "exit_code"):  # typer's own usage errors: unknown options, missing arguments
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error, file=sys.stderr)
            return 2
        shown = getattr(error, "format_message", lambda: str(error))()
        shown += "" if shown.endswith((".", "?", "!")) else "."
        return _fail(words, type(error).__name__, f"{shown} Try `rpac --help`.", 2)
    from rpac.report.wording import advice

    if isinstance(error, RpacError):
        return _fail(words, type(error).__name__, f"{_told(error)} {advice(error)}".strip(), 1)
    if isinstance(error, OSError):
        reason = f"Expected files that can be read and written; got: {error.strerror}. "
        return _fail(words, type(error).__name__, reason + "Check the path.", 1)
    if os.environ.get("RPAC_DEBUG"):
        raise error
    text = f"rpac failed with a {type(error).__name__}. Its text is withheld, since it may quote "
    return _fail(words, "Internal", text + "data; RPAC_DEBUG=1 shows it.", 1)


def _fail(words: list[str], kind: str, text: str, code: int) -> int:
    if "--json" in words:
        print(json.dumps({"error": {"kind": kind, "message": text}}))
    else:
        print(text, file=sys.stderr)
    return code


class _Piped:
    """Standard output whose reader may leave early, as `| head` does: that is no failure.

    Attributes:
        broken: Whether the reader has left; what is written after that goes nowhere.
    """

    def __init__(self, stream: io.TextIOWrapper) -> None:
        self._stream, self.broken = stream, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text; return its length."""
        self._held(self._stream.write, text)
        return len(text)

    def flush(self) -> None:
        """Pass on what was written."""
        self._held(self._stream.flush)

    def _held(self, do: Callable[..., Any], *given: str) -> None:
        try:
            do(*given)
        except BrokenPipeError:
            self.broken = True
            with open(os.devnull, "wb") as nowhere:  # the interpreter flushes once more at its end
                os.dup2(nowhere.fileno(), self._stream.fileno())


def run() -> None:
    """Run as the program `rpac`. A terminal that lacks a letter gets its code, not a failure."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        if "--json" in sys.argv:
            sys.stdout.reconfigure(encoding="utf-8")
        else:
            sys.stdout.reconfigure(errors="backslashreplace")
        piped: Any = _Piped(sys.stdout)
        sys.stdout = piped
    sys.exit(main())
