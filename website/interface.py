"""Pages of the whole interface: every public name from its docstring, every command from its help.

Where a name goes follows from the module it lives in, so a new one finds its page by itself.
"""

import inspect
import pydoc
import re

import typer

import rpac
from rpac.cli import app

SUBJECTS = {
    "asking": (
        "Ask and release",
        "The verbs that most people need, and what they return.",
        ("rpac.front", "rpac.report", "rpac.answers"),
    ),
    "budgets": (
        "Budgets",
        "A budget in any unit, and how the units translate into one another.",
        ("rpac.budget", "rpac.advantage"),
    ),
    "sources": (
        "Whose secret it is",
        "`Presence` and `Database` for the promise *person*, the others for *sample*.",
        ("rpac.person", "rpac.schema", "rpac.sql", "rpac.worlds.source"),
    ),
    "statistics": (
        "Questions by name",
        "Sums, means, histograms and the like, for tables of any kind, by groups too.",
        ("rpac.questions.statistics",),
    ),
    "programs": (
        "Estimators and programs",
        "Scikit-learn estimators, shell commands, and functions that may fail.",
        ("rpac.questions.programs", "rpac.worlds.guard"),
    ),
    "steps": (
        "Step by step",
        "What `privatize` does, one step at a time.",
        ("rpac.worlds", "rpac.front.methods", "rpac.front.certify", "rpac.noise.grid"),
    ),
    "certificates": (
        "Certificates and references",
        "What is proved of a release, and the densities that proofs are made with.",
        ("rpac.certificate",),
    ),
    "books": (
        "Ledger and sessions",
        "What is spent, and conversations about one drawn world.",
        ("rpac.ledger", "rpac.front.session"),
    ),
    "noise": (
        "Laws of noise",
        "What a release may be drawn from.",
        ("rpac.noise",),
    ),
    "calibrators": (
        "Calibrators and utilities",
        "What proposes noise, and what noise costs.",
        ("rpac.calibrators",),
    ),
    "learned": (
        "Noise that is learned",
        "SR-PAC and sliced SR-PAC; needs `pip install 'rpac[neural]'`.",
        ("rpac.learned",),
    ),
    "attacks": (
        "Attacks and audits",
        "Lower bounds on what a release leaks, and records read as an outsider would.",
        ("rpac.attack",),
    ),
    "residual": (
        "Residual privacy",
        "What a release takes and what remains, exactly, on finite worlds.",
        ("rpac.residual",),
    ),
    "extending": (
        "Contracts and oracles",
        "Checks for parts of your own, and problems that know their answer.",
        ("rpac.contracts", "rpac.oracles"),
    ),
    "errors": (
        "Errors",
        "What can go wrong, as types to catch.",
        ("rpac.errors",),
    ),
}
"""Pages in their order: title, first line, and the modules whose public names they have."""
FIRST = (
    "privatize", "plan", "compare", "debug", "audit", "simulate", "calibrate", "certify",
    "Equilibrium",
)  # fmt: skip
"""What people need first, in that order."""
EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.M)


def subject(home):
    """Return the page of a module: that of the longest name in `SUBJECTS` that it begins with."""
    fits = [
        (len(module), page)
        for page, (_, _, modules) in SUBJECTS.items()
        for module in modules
        if f"{home}.".startswith(f"{module}.")
    ]
    if not fits:
        raise LookupError(f"Expected a page for {home}; got none. Add it to SUBJECTS.")
    return max(fits)[1]


def members(module):
    """Return the public names of a module of the interface."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__
    ]


def names():
    """Return every public name and its home: {"rpac.privatize": "rpac.front.privatize"}."""
    found = {f"rpac.{name}": home for home, listed in rpac.HOMES.items() for name in listed}
    for short, home in rpac.MODULES.items():
        for name in members(getattr(rpac, short)):
            found[f"{home}.{name}"] = home
    return found


def interface():
    """Return the pages of the interface, {path: Markdown}; mkdocstrings fills them."""
    listed = {page: [] for page in SUBJECTS}
    for name, home in names().items():
        listed[subject(home)].append(name)
    for of_page in listed.values():
        of_page.sort(key=_rank)
    made, rows = {}, []
    for page, (title, line, modules) in SUBJECTS.items():
        own = [f"`rpac.{short}`" for short, home in rpac.MODULES.items() if home in modules]
        said = [f"Names without `rpac.` in front are in {' and '.join(own)}."] if own else []
        parts = [f"# {title}", " ".join([line, *said])]
        parts += [f"::: {name}" for name in listed[page]]
        made[f"interface/{page}.md"] = "\n\n".join(parts) + "\n"
        some = [f"`{name.rpartition('.')[2]}`" for name in listed[page]]
        rows.append(f"| [{title}]({page}.md) | {', '.join(some)} |")
    said = "Every public name, by subject: what is called before what it returns."
    head = f"# The whole interface\n\n{said}\n\n"
    table = "\n".join(["| page | names |", "| --- | --- |", *rows])
    made["interface/index.md"] = f"{head}{table}\n"
    return made


def _rank(name):
    """Return a name's place on its page: `FIRST`, then verbs, then nouns.

    Names of `rpac` itself stand before those of its modules; within each kind they stay as listed.
    """
    home, _, short = name.rpartition(".")
    first = FIRST.index(short) if short in FIRST else len(FIRST)
    return (home != "rpac", first, not inspect.isroutine(pydoc.locate(name)))


def fenced(text):
    """Return a docstring with a fence around its examples, which are no quotations to Markdown."""
    return EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text)


def commands():
    """Return the page of the command line, from what each command says of itself."""
    program = typer.main.get_command(app)
    parts = ["# All commands and options", "What `rpac COMMAND --help` says.", ""]
    for name, command in program.commands.items():
        context = command.make_context(f"rpac {name}", [], resilient_parsing=True)
        usage = context.get_usage().removeprefix("Usage: ")
        parts += [f"## rpac {name}", "", inspect.cleandoc(command.help), ""]
        parts += ["```text", usage, "```", "", "| option | what it says |", "| --- | --- |"]
        for parameter in command.get_params(context):
            option, words = parameter.get_help_record(context)
            parts.append(f"| `{_cell(option)}` | {_cell(_plain(words))} |")
        parts.append("")
    return "\n".join(parts)


def _cell(text):
    return text.replace("|", "\\|")


def _plain(text):
    """Return a help text with what Markdown would read as a mark escaped."""
    return "".join(f"\\{letter}" if letter in "*_<[{" else letter for letter in text)


def pages():
    """Return all pages that are made: {path on the site: Markdown}."""
    return {**interface(), "commands.md": commands()}
