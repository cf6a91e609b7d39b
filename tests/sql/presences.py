"""What a question about presence would answer without noise, and the same in plain DuckDB."""

import duckdb
import numpy as np

from rpac.person.mechanism import Drawn


def exact(question, rows):
    """Return the release without noise, clipping, or rounding; middles that are sought are 1."""
    with np.errstate(all="ignore"):
        return _exact(question, rows)


def _exact(question, rows):
    middles = np.array([1.0 if c.middle is None else c.middle for c in question.columns])
    sums = np.zeros((question.groups, len(question.terms)))
    for i, term in enumerate(question.terms):
        product = np.ones(len(rows.units))
        for j, power in enumerate(term.powers):
            product = product * (rows.values[:, j] - middles[j]) ** power if power else product
        for j in term.present:
            product = np.where(np.isfinite(rows.values[:, j]), product, 0.0)
        if term.once:
            pairs = np.unique(np.stack([rows.units, rows.groups])[:, product > 0], axis=1)
            sums[:, i] = np.bincount(pairs[1], minlength=question.groups)
        else:
            sums[:, i] = np.bincount(rows.groups, np.nan_to_num(product), question.groups)
    quantiles = np.full((question.groups, len(question.quantiles)), np.nan)
    for q, part in enumerate(question.quantiles):
        for g in range(question.groups):
            values = rows.values[rows.groups == g, part.column]
            values = values[np.isfinite(values)]
            if len(values):
                quantiles[g, q] = np.quantile(values, part.level)
    return Drawn(middles, (), np.ones(len(question.terms)), sums, quantiles)


def answered(db, sql):
    """Return the rows of a query without noise."""
    asked = db.query(sql).asked(db.presence)
    value = asked.form.rebuild(asked.numbers(exact(asked.question, asked.rows().held())))
    return value if isinstance(value, list) else value.to_dict("records")


def plainly(tables, sql):
    """Return the rows of a query on frames in DuckDB."""
    connection = duckdb.connect()
    for name, table in tables.items():
        connection.register(name, table)
    found = connection.execute(sql)
    names = [d[0] for d in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
