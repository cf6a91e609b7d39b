"""Random command lines: mostly misspelt, some odd, a few right."""

import random

COMMANDS = ("plan", "release", "audit", "compare", "verify", "ledger", "report", "paper", "pln", "")
OPTIONS = (
    "--unit", "--sql", "--statistic", "--command", "--budget", "--success", "--public", "--keys",
    "--link", "--project", "--ledger", "--cap", "--dataset", "--analyst", "--worlds", "--seed",
    "--method", "--json", "--key", "--out", "--report", "--sealed-report", "--audit", "--no-audit",
    "--methods", "--budgets", "--games", "--export", "--protect", "--caps",
    "--middle", "--schema", "--size", "--way", "--blocks", "--mu", "--help", "--nope", "-x", "--", "---", "-",  # noqa: E501
)  # fmt: skip
VALUES = (
    "person", "sample", "pay=0:20", "pay=20:0", "pay=nan:1", "rows=1", "rows=0", "pay=10",
    "answer=0,0", "blocks", "leave-one-out", "contributions",
    "", " ", "id", "rows", "staff.id", "x", "0", "1", "-1", "0.1", "1e-300", "1e400", "nan", "inf",
    "-inf", "0.55", "1.5", "99999999999999999999", "a=b", "=", "a=", "dept=a,b", "staff.dept",
    "mean(pay)", "mean(", "count()", "mean(nope)", "quantile(pay, 7)", "group_by(dept, count(), a)",
    "SELECT avg(pay) FROM staff", "SELECT pay FROM staff", "SELECT", "DROP TABLE staff", "; ;",
    "SELECT count(*) FROM staff GROUP BY dept", "SELECT 1", "equilibrium", "auto-pac", "magic",
    "true", "false", "☂", "\u202e", "é" * 300, "../../etc", "/nonexistent/x.db", "0.1,0.3", ",,",
    "0.1;", "4", "8", "2", "3", "postgresql://", "://", "'; --", "$(id)", "%s%n", "{file}", "\\",
)  # fmt: skip
NEARLY = (
    "plan FILE --unit id --statistic mean(pay) --caps pay=0:20 --middle pay=10 --size 12",
    "release FILE --unit id --statistic count(pay) --out o.json --success 0.6",
    "compare FILE --unit id --statistic mean(pay) --budgets 0.55,0.6",
    "plan FILE --protect sample --unit id --worlds 4 --method auto-pac --statistic mean(pay)",
    "release FILE --protect sample --unit id --worlds 4 --method auto-pac --statistic count(pay)",
    "release FILE --protect sample --unit rows --worlds 4 --statistic mean(pay) --ledger l.db",
    "compare FILE --protect sample --unit id --worlds 4 --budgets 0.3 --statistic mean(pay)",
    "ledger l.db --cap 3 --dataset staff",
    "verify o.json --ledger l.db",
    "report o.json --out r.html",
)


def lines(seed, count, files):
    """Yield command lines; `files` are paths that exist."""
    rng = random.Random(seed)
    for _ in range(count):
        if rng.random() < 0.15:
            words = rng.choice(NEARLY).replace("FILE", files[0]).split()
            words[rng.randrange(len(words))] = rng.choice(VALUES + OPTIONS)
            yield words
            continue
        words = [rng.choice(COMMANDS)] if rng.random() < 0.97 else []
        if rng.random() < 0.6:
            words.append(rng.choice(files))
        for _ in range(rng.randrange(7)):
            words.append(rng.choice(OPTIONS))
            if rng.random() < 0.85:
                words.append(rng.choice(VALUES if rng.random() < 0.9 else files))
        if rng.random() < 0.1:
            rng.shuffle(words)
        yield [word.replace("\x00", "") for word in words]
