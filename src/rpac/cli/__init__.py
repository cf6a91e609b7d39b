"""The command line: `rpac plan | release | audit | verify | ledger | compare | paper | report`."""

from rpac.cli.program import app, main, run

__all__ = ["app", "main", "run"]
