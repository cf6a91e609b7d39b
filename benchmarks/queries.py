"""Random queries on two databases that differ in one person's values: only numbers may differ.

`python -m benchmarks.queries 10000` asks that many, and prints what differed; nothing should. Names
(labels, keys, their order), shape (columns, types) and outcome (answered, or a refusal's text) are
compared. The person's values in the second database are missing, extreme, or made to fail.
"""

import datetime
import re
import sys
import time
from collections import Counter

import numpy as np
import pyarrow as pa

import rpac

PEOPLE, VISITS = 24, 60
TOWNS = ("ash", "elm", "oak", "yew")
KINDS = pa.schema([
    ("id", pa.int64()), ("town", pa.string()), ("job", pa.string()), ("pay", pa.float64()),
    ("age", pa.int64()), ("big", pa.decimal128(38, 0)), ("note", pa.string()),
    ("born", pa.date32()), ("seen", pa.timestamp("us")),
])  # fmt: skip
VISIT = pa.schema([
    ("who", pa.int64()), ("place", pa.int64()), ("cost", pa.float64()), ("code", pa.string()),
    ("day", pa.date32()),
])  # fmt: skip
PLACES = {
    "pid": [1, 2, 3, 4], "name": ["inn", "bar", "gym", "spa"], "rank": [1, 1, 2, 5],
    "zone": ["n", "s", "n", None],
}  # fmt: skip
CODES = {"code": ["a", "b", "c", "7"], "worth": [1.0, 2.0, 0.0, -3.0]}
WEIRD = {
    "job": [None, "", "boss", "7", "x" * 50], "age": [None, 0, -1, 2**62, 41],
    "pay": [None, 0.0, -1.0, 1e308, float("inf"), float("nan"), 1e-300, 123456.78],
    "big": [None, 10**37, -(10**37), 0], "note": [None, "", "12", "1e400", "2020-02-30", "%"],
    "born": [None, datetime.date(1, 1, 1), datetime.date(9999, 12, 31)],
    "seen": [None, datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)],
    "cost": [None, 0.0, -5.0, 1e308, float("-inf"), 77.0], "place": [None, 3, 99, 2**62],
    "day": [None, datetime.date(1970, 1, 1), datetime.date(9999, 12, 31)],
}  # fmt: skip


def rows(seed):
    """Return the people and their visits, as lists of dicts."""
    rng = np.random.default_rng(seed)
    people = [
        {"id": i, "town": TOWNS[i % 4], "job": str(rng.choice(["cook", "maid", "boss"])),
         "pay": float(rng.integers(20, 90)) * 1000, "age": int(rng.integers(18, 80)),
         "big": int(rng.integers(0, 10**9)), "note": str(rng.integers(0, 50)),
         "born": datetime.date(1950 + int(rng.integers(0, 50)), 1 + i % 12, 1 + i % 28),
         "seen": datetime.datetime(2020, 1 + i % 12, 1 + i % 28, i % 24)}
        for i in range(PEOPLE)
    ]  # fmt: skip
    visits = [
        {"who": i % PEOPLE, "place": 1 + int(rng.integers(0, 4)),
         "cost": float(rng.integers(0, 90)), "code": "abc"[i % 3],
         "day": datetime.date(2021, 1 + i % 6, 1 + i % 28)}
        for i in range(VISITS)
    ]  # fmt: skip
    return people, visits


def changed(people, visits, rng):
    """Return the rows with other values of one person, but for columns declared public."""
    person = int(rng.integers(0, PEOPLE))
    people = [dict(row) for row in people]
    visits = [dict(row) for row in visits]
    for row in [people[person], *(row for row in visits if row["who"] == person)]:
        for column in set(row) & set(WEIRD):
            if rng.random() < 0.8:
                row[column] = WEIRD[column][int(rng.integers(0, len(WEIRD[column])))]
    return people, visits


def database(people, visits):
    tables = {
        "person": pa.Table.from_pylist(people, KINDS), "visit": pa.Table.from_pylist(visits, VISIT),
        "places": pa.table(PLACES), "codes": pa.table(CODES),
    }  # fmt: skip
    return rpac.Database(
        tables, "person.id", {"visit.who": "person.id"}, worlds=16, keys={"job": ["cook", "boss"]},
        public=["places", "codes", "person.town", "visit.code"],
    )  # fmt: skip


# --- a generator of queries -----------------------------------------------------------------------


class Writer:
    """Writes one random query after another."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def one(self, *choices):
        """Return one of these."""
        return choices[int(self.rng.integers(0, len(choices)))]

    def chance(self, p):
        """Return true with probability p."""
        return self.rng.random() < p

    def number(self):
        """Return a term over p (person) and v (visit); some fail on some rows."""
        return self.one(
            "p.pay", "p.age", "v.cost", "p.big", "p.pay / p.age", "p.pay / (p.age - 41)",
            "ln(p.pay)", "sqrt(p.pay - 50000)", "CAST(p.note AS INTEGER)", "p.age * 1000000000000",
            "p.age // (p.age - 41)", "p.age % v.place", "CAST(p.pay AS TINYINT)", "exp(v.cost)",
            "year(p.born)", "datediff('day', p.born, v.day)", "length(p.job)", "p.big * p.big",
            "CAST(strftime(p.seen, '%Y') AS SMALLINT)", "epoch(p.seen)", "v.place", "1", "v.cost",
            "CASE WHEN p.age > 40 THEN p.pay ELSE CAST(p.note AS DOUBLE) END", "pow(v.cost, 9)",
            "coalesce(p.pay, 0)", "TRY_CAST(p.note AS DOUBLE)", "abs(p.age)", "p.pay",
            "log(v.cost)", "round(p.pay, 2)", "CAST(p.pay AS DECIMAL(9,2))", "v.cost * v.place",
            "strpos(p.job, 'o')", "ascii(p.note)", "CAST(p.job = 'cook' AS INTEGER)",
        )  # fmt: skip

    def condition(self):
        """Return a condition over p and v."""
        return self.one(
            "p.pay > 50000", "p.age < 41", "CAST(p.note AS INTEGER) > 20", "v.cost / p.age > 1",
            "p.pay = 123456.78", "p.job = 'cook'", "p.job LIKE '%o%'", "p.town <> 'elm'",
            "p.born < DATE '1980-01-01'", "10 // (p.age - 41) > 0", "v.code IN ('a', 'b')",
            "EXISTS (SELECT 1 FROM visit w WHERE w.who = p.id AND w.cost > 60)",
            "p.age IN (SELECT q.age FROM person q WHERE q.pay > 60000)",
            "p.pay > (SELECT avg(q.pay) FROM person q)", "v.place = 3", "p.big > 10",
            "v.code IN (SELECT code FROM codes WHERE worth > 0)", "p.town || v.code <> 'asha'",
            "(SELECT max(CAST(q.note AS INTEGER)) FROM person q) > 3", "p.seen IS NULL",
            "CAST(v.place AS TINYINT) > 1", "p.town > 'b' OR p.age > 30", "NOT (p.pay < 30000)",
            "p.job IS NOT NULL", "v.day BETWEEN DATE '2021-02-01' AND DATE '2021-05-01'",
            "p.note SIMILAR TO '[0-9]+'", "'oak' > p.town", "1 = 1",
        )  # fmt: skip

    def key(self):
        """Return what to group by, mostly public."""
        if self.chance(0.7):
            return self.one(
                "p.town", "v.code", "p.job", "upper(p.town)", "p.town || v.code", "l.name",
                "CASE WHEN p.town < 'f' THEN 'low' ELSE 'high' END", "'all'", "c.worth",
                "l.zone", "l.rank",
                "CAST(v.code AS INTEGER)", "coalesce(l.zone, '-')", "p.town = 'elm'",
                "(SELECT min(code) FROM codes)", "10 // (l.rank - 2)", "l.rank + c.worth",
            )  # fmt: skip
        return self.one(
            "p.age", "p.age // 10", "year(p.born)", "(SELECT max(q.town) FROM person q)", "p.note",
            "EXISTS (SELECT 1 FROM person q WHERE q.pay > 80000)", "p.job || 'x'", "p.pay > 50000",
            "now()", "(SELECT min(code) FROM codes WHERE worth < v.cost)", "v.place",
        )  # fmt: skip

    def aggregate(self):
        """Return an aggregate, or something made of some."""
        x = self.number()
        return self.one(
            "count(*)", f"count({x})", f"sum({x})", f"avg({x})", f"min({x})", f"max({x})",
            f"sum({x})", f"avg({x})", f"median({x})", f"stddev({x})", f"var_samp({x})",
            f"quantile_cont({x}, 0.5)", f"count(DISTINCT {x})", f"sum(DISTINCT {x})",
            f"sum({x}) / count(*)", f"sum({x}) FILTER (WHERE {self.condition()})", f"min({x})",
            f"count(*) * CAST(avg({x}) AS TINYINT)", f"sum({x}) / sum({self.number()})",
            f"CAST(max({x}) AS SMALLINT)", f"corr({x}, {self.number()})", "max(p.born)",
            "min(p.seen)", f"max({x}) - min({x})", f"ln(avg({x}))", f"bool_or({self.condition()})",
            self.one(f"list_sum(list({x}))", f"first({x})", "string_agg(p.job)", f"product({x})",
                     f"regr_slope({x}, {x})", f"approx_quantile({x}, 0.5)", f"arg_max({x}, {x})"),
            "count(DISTINCT p.id)", f"CASE WHEN avg({x}) > 3 THEN sum({x}) END",
            f"10 // CAST(avg({x}) AS INTEGER)",
            f"coalesce(sum({x}), 0)", f"avg({x} + (SELECT count(*) FROM codes))",
            f"avg({x}) - (SELECT avg(q.pay) FROM person q)", f"quantile_disc({x}, 0.25)",
        )  # fmt: skip

    def source(self, needed):
        """Return a FROM that has p, v, and what the keys need."""
        inner = self.one("", "LEFT ", "INNER ", "RIGHT ", "FULL ", "")
        extra = self.one(
            "", "", f" {self.one('', 'LEFT ')}JOIN places l ON l.pid = v.place",
            f" {self.one('', 'LEFT ', 'FULL ')}JOIN codes c ON c.code = v.code", ", places l",
            " JOIN codes c ON c.code = v.code JOIN places l ON l.pid = v.place AND l.rank < 5",
        )  # fmt: skip
        for name, on in (("places l", "l.pid = v.place"), ("codes c", "c.code = v.code")):
            if re.search(rf"\b{name[-1]}\.", needed) and name not in extra:
                extra = f" {self.one('', '', 'LEFT ', 'RIGHT ')}JOIN {name} ON {on}{extra}"
        people = self.one(
            "person p", "person p", f"(SELECT * FROM person p WHERE {self.plain()}) AS p",
            "(SELECT * FROM person UNION ALL SELECT * FROM person WHERE age > 70) AS p",
            "(SELECT * FROM person ORDER BY pay LIMIT 9) AS p",
            "(SELECT *, row_number() OVER (PARTITION BY town ORDER BY pay) AS rn FROM person) AS p",
        )  # fmt: skip
        on = self.one("p.id = v.who", "p.id = v.who", f"p.id = v.who AND {self.condition()}")
        return f"{people} {inner}JOIN visit v ON {on}{extra}"

    def plain(self):
        """Return a condition over p alone."""
        found = self.condition()
        while "v." in found:
            found = self.condition()
        return found

    def query(self):
        """Return a whole query."""
        kind = self.rng.random()
        if kind < 0.70:
            return self.grouped()
        if kind < 0.80:
            return f"{self.grouped(ordered=False)} UNION ALL {self.grouped(ordered=False)}"
        if kind < 0.90:
            return (f"WITH g AS ({self.grouped(ordered=False)}) "
                    f"SELECT {self.one('k0', 'm0', '1 AS one')}, "
                    f"{self.one('avg(m0)', 'max(m0)', 'sum(m0)', 'count(*)')} AS r FROM g "
                    f"{self.one('GROUP BY 1', 'GROUP BY k0', '')}")  # fmt: skip
        return self.one(
            f"SELECT l.name, (SELECT {self.aggregate()} FROM person p JOIN visit v ON p.id = v.who "
            f"WHERE v.place = l.pid) AS m FROM places l",
            f"SELECT c.code, m0 FROM codes c, ({self.grouped(ordered=False)}) AS g "
            f"WHERE c.code = g.k0",
            f"SELECT k0, m0 FROM ({self.grouped(ordered=False)}) AS g",
            f"SELECT t, n FROM (SELECT 'x' AS t, count(*) AS n FROM person p WHERE {self.plain()} "
            f"UNION ALL SELECT 'y', avg(age) FROM person) AS u",
            f"SELECT 'some' AS k, count(*) AS n FROM person p WHERE {self.plain()} GROUP BY k",
            "SELECT n, count(*) AS m FROM (SELECT who, count(*) AS n FROM visit v GROUP BY who) "
            "AS u GROUP BY n",
        )  # fmt: skip

    def grouped(self, *, ordered=True):
        """Return a SELECT with keys k0, k1 and numbers m0, m1."""
        keys = [self.key() for _ in range(self.one(0, 1, 1, 1, 2))] if ordered else [self.key()]
        numbers = [self.aggregate() for _ in range(self.one(1, 1, 2) if ordered else 1)]
        items = [f"{key} AS k{i}" for i, key in enumerate(keys)]
        items += [f"{number} AS m{i}" for i, number in enumerate(numbers)]
        if keys and self.chance(0.05):
            items = items[1:]  # grouped by what is not shown
        sql = f"SELECT {', '.join(items)} FROM {self.source(' '.join(keys))}"
        if self.chance(0.6):
            more = f" {self.one('AND', 'AND', 'OR')} {self.condition()}" if self.chance(0.3) else ""
            sql += f" WHERE {self.condition()}{more}"
        if keys:
            how = "ROLLUP ({})" if self.chance(0.05) else "{}"
            sql += f" GROUP BY {how.format(', '.join(keys))}"
        if self.chance(0.15):
            some = f"avg({self.number()}) > 1"
            sql += f" HAVING {self.one('avg(p.pay) > 40000', 'max(p.age) > 30', some)}"
        if ordered and self.chance(0.2):
            sql += f" ORDER BY {self.one('1', 'm0', 'm0 DESC')}"
            sql += self.one("", " LIMIT 2")
        return sql


# --- comparing ------------------------------------------------------------------------------------


def seen(db, sql):
    """Return all that somebody sees of an answer but its numbers."""
    try:
        query = db.query(sql)
        _ = query.measures
    except rpac.InputError as error:
        return ("refused", str(error))
    try:
        outputs = rpac.simulate(db.source, query)
    except rpac.MechanismError:
        return ("withheld",)
    except rpac.InputError as error:
        late = "broken" if "DuckDB can run" in str(error) else "refused"
        return (late, str(error))
    form = query.announce(db.source)
    table = form.rebuild(np.zeros(outputs.dim) + 0.25)
    kinds = [str(kind) for kind in table.schema.types]
    finite = bool(np.isfinite(outputs.values).all() and np.isfinite(form.scale).all())
    return ("answered", form.layout, form.labels, tuple(table.column_names), tuple(kinds),
            outputs.values.shape, str(outputs.values.dtype), query.one_pass, finite)  # fmt: skip


def run(total, seed=0, fresh=50):
    """Ask queries of pairs of databases; return what differed, and how many had which outcome."""
    writer, outcomes, differences = Writer(seed), Counter(), []
    for i in range(total):
        if i % fresh == 0:
            people, visits = rows(seed + i)
            left = database(people, visits)
            right = database(*changed(people, visits, np.random.default_rng([seed, i])))
        sql = writer.query()
        first, second = seen(left, sql), seen(right, sql)
        outcomes[first[0]] += 1
        if first != second or first[0] == "broken":
            differences.append((sql, first, second))
    return differences, outcomes


def main():
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    start = time.perf_counter()
    differences, outcomes = run(total, int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    for sql, first, second in differences[:20]:
        print(f"DIFFERS\n  {sql}\n  {first}\n  {second}")
    took = time.perf_counter() - start
    print(
        f"{total} queries on two databases: {len(differences)} differ; "
        f"{dict(outcomes)}; {took:.0f} s"
    )
    raise SystemExit(bool(differences))


if __name__ == "__main__":
    main()
