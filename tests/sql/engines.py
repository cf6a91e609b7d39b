"""The same tables in DuckDB's files, a PostgreSQL server and a Spark session."""

import duckdb

import rpac

_POSTGRES = {"VARCHAR": "TEXT", "DOUBLE": "DOUBLE PRECISION", "FLOAT": "REAL"}


def in_files(folder, tables):
    """Write relations as Parquet; return their paths by name."""
    for name, rows in tables.items():
        rows.write_parquet(str(folder / f"{name}.parquet"))
    return {name: folder / f"{name}.parquet" for name in tables}


def in_postgres(url, tables):
    """Copy relations to a server; return their names there."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as db:
        for name, rows in tables.items():
            kinds = [str(kind) for kind in rows.types]
            made = [
                f'"{c}" {_POSTGRES.get(k, k)}' for c, k in zip(rows.columns, kinds, strict=True)
            ]
            db.execute(f"CREATE TABLE {name} ({', '.join(made)})")
            with db.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as copy:
                for row in rows.fetchall():
                    copy.write_row(row)
        db.execute("ANALYZE")
    return {name: f"public.{name}" for name in tables}


def in_spark(session, paths):
    """Let a Spark session see Parquet files as views of their names; return these."""
    for name, path in paths.items():
        session.read.parquet(str(path)).createOrReplaceTempView(name)
    return list(paths)


def relation(sql):
    return duckdb.sql(sql)


def database(tables, unit, engine=None, **said):
    return rpac.Database(tables, unit, engine=engine, **said)


def close(db):
    """Close the connection to a server."""
    db.owned.engine._db.close()
