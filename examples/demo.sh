#!/bin/sh
# One question about 5,000 made-up people: a plan, a release with its books, an attack, a report.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$1
folder=${2:-demo}
mkdir -p "$folder"
cd "$folder"
rm -f books.db books.db* record.json report.html sealed.html
"$bin/python" "$here/make_staff.py" staff.csv
set -- staff.csv --unit id --keys department=operations,research,sales --size 5000 \
  --sql "SELECT department, avg(salary) AS pay, count(*) AS people FROM staff GROUP BY department"
echo "== rpac plan: what it would cost; nothing is spent, and no row is read"
"$bin/rpac" plan "$@"
echo
echo "== rpac release: charge the books, write record and reports, attack it for the owner"
"$bin/rpac" release "$@" --ledger books.db --cap 0.1 --audit \
  --out record.json --report report.html --sealed-report sealed.html
echo
echo "== rpac verify: is it what the books say"
"$bin/rpac" verify record.json --ledger books.db | head -2
"$bin/rpac" ledger books.db
echo
echo "wrote $folder/report.html (public) and $folder/sealed.html (for the owner)"
