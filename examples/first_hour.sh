#!/bin/sh
# A clean machine and the README alone: sh examples/first_hour.sh WHEEL [FOLDER] [PYTHON]
# Installs the wheel in an empty environment, then runs what the README shows, word for word.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
wheel=$1
folder=${2:-first-hour}
python=${3:-python3}
mkdir -p "$folder"
cd "$folder"
began=$(date +%s)
step() { echo "== $(($(date +%s) - began)) s: $1"; }

step "an empty environment, and pip install '.[sql]'"
[ -x venv/bin/pip ] || "$python" -m venv venv
venv/bin/pip install -q --disable-pip-version-check "$wheel[sql]"
PATH=$PWD/venv/bin:$PATH

step "Python: a first answer, own SQL, an own function, books and an attack"
python -m doctest -o ELLIPSIS -o NORMALIZE_WHITESPACE "$root/README.md"

step "the command line: plan, release, verify"
python "$root/examples/make_staff.py" staff.csv
# The lines that begin with a dollar, in blocks of console.
sed -n '/^```console/,/^```/s/^\$ //p' "$root/README.md" > commands.sh
[ "$(grep -c '^rpac' commands.sh)" -ge 3 ]
sh -eux commands.sh

step "the report is opened"
grep -q "<svg" report.html
if command -v chromium > /dev/null; then
  profile=$(mktemp -d /tmp/rpac-XXXXXX)  # a short path: Chromium opens a socket in it
  TMPDIR=$profile chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
    --user-data-dir="$profile" --dump-dom "file://$PWD/report.html" > seen.html 2> chromium.log
  rm -rf "$profile"
  grep -q "<svg" seen.html
else
  echo "Chromium was not found: only that the report is there was checked"
fi
step "done"
