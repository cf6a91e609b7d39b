"""`python -m rpac` is the command line, for where the program itself is not on the path."""

from rpac.cli.program import run

run()
