#!/bin/sh
# One question about 5,000 made-up people: a plan, an attack, a release with its books, a report.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$1
folder=${2:-demo}
mkdir -p "$folder"
cd "$folder"
rm -f books.db books.db* record.json report.html sealed.html
"$bin/python" "$here/make_staff.py" staff.csv
set -- staff.csv --unit id --worlds 100 --budget 0.3 --public staff.department \
  --sql "SELECT department, avg(salary) AS pay, count(*) AS people FROM staff GROUP BY department"
echo "== rpac plan: what it would cost; nothing is spent"
"$bin/rpac" plan "$@"
echo
echo "== rpac release: charge the books, attack it, write record and reports"
"$bin/rpac" release "$@" --ledger books.db --cap 1 --audit \
  --out record.json --report report.html --sealed-report sealed.html
echo
echo "== rpac verify: is it what the books say"
"$bin/rpac" verify record.json --ledger books.db | head -2
"$bin/rpac" ledger books.db
echo
echo "wrote $folder/report.html (public) and $folder/sealed.html (for the owner)"
