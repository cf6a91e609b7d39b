"""The books under load, kills, damage and rollback. `make test` runs a small version of it.

Run it with `python -m benchmarks.ledger [part ...] [--where DIR]`.
"""

from __future__ import annotations

import contextlib
import glob
import multiprocessing
import os
import random
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

import rpac
from rpac.ledger.anchor import Position
from rpac.ledger.entries import Line

UNIT = 1_000
"""Nano-nats of a spend."""
FORK = multiprocessing.get_context("fork")
POINTS = (
    "before the transaction",
    "at the draw",
    "in the intent's write",
    "before the commit",
    "after the commit",
    "in the confirmation's write",
    "before the reveal",
)


def fork(work, *args):
    """Run `work` in a child process that leaves nothing behind; return its pid."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work(*args)
    except BaseException as error:  # the parent must see that a worker failed
        print(f"worker failed: {error!r}", file=sys.stderr)
        os._exit(1)
    os._exit(0)


# --- load ---------------------------------------------------------------------------------------


def _spender(where, number, spends, extra, barrier, folder):
    ledger = rpac.Ledger(where)
    barrier.wait()
    waits, granted, refused = [], 0, 0
    for _ in range(spends + extra):
        start = time.perf_counter()
        try:
            ledger.spend(UNIT / 1e9)
            granted += 1
        except rpac.BudgetSpent:
            refused += 1
        waits.append(time.perf_counter() - start)
    np.save(f"{folder}/{number}.npy", np.array([granted, refused, *waits]))


def load(where, processes, spends, extra=3):
    """Spend to the exact cap from many processes at once; return what happened."""
    whole = processes * spends
    ledger = rpac.Ledger(where, budget=whole * UNIT / 1e9)
    barrier = FORK.Barrier(processes + 1)
    with tempfile.TemporaryDirectory() as folder:
        pids = [fork(_spender, where, i, spends, extra, barrier, folder) for i in range(processes)]
        barrier.wait()
        start = time.perf_counter()
        failed = sum(os.waitpid(pid, 0)[1] != 0 for pid in pids)
        seconds = time.perf_counter() - start
        rows = [np.load(f"{folder}/{i}.npy") for i in range(processes)]
    waits = np.sort(np.concatenate([row[2:] for row in rows]))
    granted = int(sum(row[0] for row in rows))
    ledger.verify()
    recorded = sum(entry["kind"] == "spend" for entry in ledger.entries())
    rate = waits.size / seconds
    found = {
        "granted": granted, "recorded": recorded, "cap": whole, "failed": failed,
        "left": ledger.remaining, "rate": rate, "p99": float(waits[int(0.99 * waits.size)]),
        "max": float(waits[-1]), "p99 bar": 3 * processes / rate,
    }  # fmt: skip
    ledger.close()
    return found


# --- kills --------------------------------------------------------------------------------------


def _writer(where, number, acked):
    ledger = rpac.Ledger(where)
    file = os.open(acked, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while True:
        key = f"{number}-{os.urandom(8).hex()}"
        try:
            ledger.spend(UNIT / 1e9, key=key, draw=lambda key=key: (key[::-1], b""))
        except rpac.BudgetSpent:
            time.sleep(0.01)
            continue
        os.write(file, f"{key}\n".encode())  # acknowledged


def kills(where, count, writers=4, cap=10_000):
    """Kill writers at random moments; return acknowledged, recorded and what broke."""
    ledger = rpac.Ledger(where, budget=cap * UNIT / 1e9)
    acked = f"{where}.acked"
    Path(acked).touch()
    alive = [fork(_writer, where, i, acked) for i in range(writers)]
    for i in range(count):
        time.sleep(random.uniform(0.0, 0.04))
        victim = random.randrange(writers)
        os.kill(alive[victim], signal.SIGKILL)
        os.waitpid(alive[victim], 0)
        alive[victim] = fork(_writer, where, f"{victim}.{i}", acked)
    for pid in alive:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    start = time.perf_counter()
    with rpac.Ledger(where) as again:
        recovery = time.perf_counter() - start
        again.verify()
        recorded = {e["key"] for e in again.entries() if e["kind"] == "spend"}
    told = Path(acked).read_text().split()
    ledger.close()
    return {
        "kills": count, "acknowledged": len(told), "recorded": len(recorded), "cap": cap,
        "lost": len(set(told) - recorded), "recovery": recovery,
    }  # fmt: skip


def _dies(where, key, point):
    """Spend under a key, and die at a named point."""
    ledger = rpac.Ledger(where)
    die = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)  # noqa: E731
    store, anchor = ledger._store, ledger._chain.anchor
    if point == "before the transaction":
        store.begin = die
    elif point == "before the commit":
        real = store.rows
        store.rows = lambda sql, *v: die() if sql == "COMMIT" else real(sql, *v)
    elif point == "after the commit":
        ledger._chain.confirm = die
    elif point.endswith("write"):
        name = "intend" if "intent" in point else "confirm"
        write = getattr(anchor, name)

        def torn(*positions):
            os.pwrite = die
            write(*positions)

        setattr(anchor, name, torn)
    draw = die if point == "at the draw" else (lambda: (os.urandom(8).hex(), b""))
    ledger.spend(UNIT / 1e9, key=key, draw=draw)
    assert anchor is not None
    die()


def crash_points(where, runs):
    """Kill at every named point, then retry; return how often the books were wrong."""
    ledger = rpac.Ledger(where, budget=runs * len(POINTS) * UNIT / 1e9)
    wrong: Counter[str] = Counter()
    for point in POINTS:
        for i in range(runs):
            key = f"{point} {i}"
            before = ledger.spent
            pid = fork(_dies, where, key, point)
            died = os.waitpid(pid, 0)[1] == signal.SIGKILL
            known = ledger.find(key)
            again = ledger.spend(UNIT / 1e9, key=key, draw=lambda: (os.urandom(8).hex(), b""))
            same = known is None or known == again
            charged = round((ledger.spent - before) * 1e9)
            late = POINTS.index(point) >= POINTS.index("after the commit")
            wrong[point] += not (died and same and charged == UNIT and (known is not None) == late)
    ledger.verify()
    ledger.close()
    return wrong


# --- damage -------------------------------------------------------------------------------------


def _filled(where, spends=40):
    ledger = rpac.Ledger(where, budget=1.0, dataset="people", anchor=f"{where}.head")
    ledger.cap(0.9, analyst="ann")
    for i in range(spends):
        ledger.under(analyst="ann").spend(0.01, key=f"k{i}", draw=lambda: ([1.5, 2.5], b""))
    return ledger


def _face(ledger):
    ann = ledger.under(dataset="people", analyst="ann")
    return [e["hash"] for e in ledger.entries()], ann.remaining, ledger.accounts()


def _outcome(where, truth):
    """Open a ledger that may be damaged: refused, harmless, or wrong."""
    try:
        with rpac.Ledger(where, anchor=f"{where}.head") as ledger:
            ledger.verify()
            same = _face(ledger) == truth
            if not same:
                return "wrong"
            ledger.under(dataset="people", analyst="ann").spend(0.01, key="next")
            ledger.verify()
            return "harmless"
    except rpac.LedgerError:
        return "refused"


def _copy(source, target):
    for name in ("", "-wal", "-shm", ".head"):
        if os.path.exists(f"{source}{name}"):
            shutil.copy(f"{source}{name}", f"{target}{name}")


def flips(folder, count, seed=0):
    """Flip one byte at a time, in file, journal or anchor; truncate; delete the journal."""
    rng = np.random.default_rng(seed)
    where, hot = f"{folder}/whole.db", f"{folder}/hot.db"
    ledger = _filled(where)
    truth = _face(ledger)
    _copy(where, hot)  # with its journal, as after a crash
    ledger.close()  # without: all in one file
    found: Counter[str] = Counter()
    for i in range(count):
        source = where if i % 2 else hot
        names = [n for n in ("", "-wal", ".head") if os.path.exists(f"{source}{n}")]
        trial = f"{folder}/trial{i}.db"
        _copy(source, trial)
        file = Path(f"{trial}{names[i // 2 % len(names)]}")
        content = bytearray(file.read_bytes())
        at = int(rng.integers(len(content)))
        if i % 20 == 19:
            content = content[:at]
        else:
            content[at] ^= 1 << int(rng.integers(8))
        file.write_bytes(content)
        if i % 50 == 48 and os.path.exists(f"{trial}-wal"):
            os.unlink(f"{trial}-wal")
        found[_outcome(trial, truth)] += 1
        for name in ("", "-wal", "-shm", ".head", ".lock"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{trial}{name}")
    return found


def rollbacks(folder, count):
    """Restore an earlier copy of the ledger, wherever it is put: its anchor is known by its id."""
    where, refused = f"{folder}/roll.db", 0
    ledger = rpac.Ledger(where, budget=10.0)
    for i in range(count):
        _copy(where, f"{folder}/old{i}.db")
        for _ in range(1 + i % 3):
            ledger.spend(0.001)
    ledger.close()
    for i in range(count):
        try:
            rpac.Ledger(f"{folder}/old{i}.db").spend(0.001)
        except rpac.LedgerError:
            refused += 1
    return refused


PARTS = ("folder", "ledger", "store", "anchor")
"""What may be put back alone; a folder is ledger and store together."""


def restored(folder, part, count, later=2):
    """Put back what was copied before later answers; return how often the session was refused."""
    refused = 0
    source = rpac.Worlds([1.0, 2.0, 4.0])
    for i in range(count):
        home, copies = f"{folder}/{part}{i}", f"{folder}/{part}{i}.copy"
        os.makedirs(home)
        where, store = f"{home}/l.db", f"{home}/session"
        with rpac.Ledger(where, budget=2.0) as ledger:
            session = rpac.Session(source, 1.0, ledger, store=store)
            session.ask(float, 0.05)
            anchor = ledger._chain.anchor._path
        shutil.copytree(home, copies)
        shutil.copy(anchor, f"{copies}/anchor")
        with rpac.Ledger(where) as ledger:
            session = rpac.Session(source, 1.0, ledger, store=store)
            for _ in range(later):
                session.ask(float, 0.05)
            if i % 2 and part != "anchor":
                session.close()
        back = {"ledger": ["l.db"], "store": ["session"], "anchor": [],
                "folder": ["l.db", "session"]}[part]  # fmt: skip
        for name in back:
            shutil.copy(f"{copies}/{name}", f"{home}/{name}")
        if part == "anchor":
            shutil.copy(f"{copies}/anchor", anchor)
        try:
            with rpac.Ledger(where) as ledger:
                rpac.Session(source, 1.0, ledger, store=store).ask(float, 0.05)
        except rpac.LedgerError:
            refused += 1
    return refused


def disk_full(folder, runs):
    """Run out of room at many positions; return (refusals, what was lost)."""
    refusals = lost = 0
    for i in range(runs):
        where = f"{folder}/full{i}.db"
        ledger = rpac.Ledger(where, budget=1.0)
        pages = ledger._store.rows("PRAGMA page_count")[0][0]
        ledger._store.rows(f"PRAGMA max_page_count={pages + i % 7}")
        told = []
        try:
            for k in range(300):
                body = ["x" * (37 * i % 900)]
                told.append(ledger.spend(0.001, key=f"{k}", draw=lambda body=body: (body, b"")).key)
        except rpac.LedgerError:
            refusals += 1
        ledger.close()
        with rpac.Ledger(where) as again:
            again.verify()
            lost += sum(again.find(key) is None for key in told)
    return refusals, lost


def _file_limit(where, limit):
    """Spend until the kernel refuses to let files grow."""
    ledger = rpac.Ledger(where)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    for k in range(10_000):
        try:
            ledger.spend(1e-6, key=f"{k}")
        except rpac.LedgerError:
            os._exit(0)
        with open(os.open(f"{where}.told", os.O_WRONLY | os.O_CREAT | os.O_APPEND), "w") as told:
            told.write(f"{k}\n")
    os._exit(1)


def file_limit(folder, runs):
    """The same with the kernel's own limit; return (refusals, what was lost)."""
    refusals = lost = 0
    for i in range(runs):
        where = f"{folder}/limit{i}.db"
        rpac.Ledger(where, budget=1.0).close()
        pid = fork(_file_limit, where, 60_000 + 7_919 * i)
        refusals += os.waitpid(pid, 0)[1] == 0
        with rpac.Ledger(where) as again:
            again.verify()
            lost += sum(again.find(k) is None for k in Path(f"{where}.told").read_text().split())
    return refusals, lost


def _as_nobody(where):
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    try:
        rpac.Ledger(where).spend(0.001)
    except rpac.LedgerError:
        os._exit(0)
    os._exit(1)


def read_only(folder):
    """Spend without the right to write; return whether it was refused."""
    where = f"{folder}/only.db"
    rpac.Ledger(where, budget=1.0).close()
    os.chmod(where, 0o444)
    os.chmod(folder, 0o555)
    try:
        return os.waitpid(fork(_as_nobody, where), 0)[1] == 0
    finally:
        os.chmod(folder, 0o755)


def retries(where, count):
    """Retry one key; return (charges, distinct answers)."""
    ledger = rpac.Ledger(where, budget=1.0)
    draw = lambda: (os.urandom(8).hex(), b"")  # noqa: E731
    answers = {ledger.spend(0.1, key="one", draw=draw).answer for _ in range(count)}
    charges = sum(entry["kind"] == "spend" for entry in ledger.entries())
    ledger.close()
    return charges, len(answers)


# --- PostgreSQL ---------------------------------------------------------------------------------


def postgres_programs():
    """Return the folder of PostgreSQL's programs, or None."""
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    found = shutil.which("initdb")
    return os.path.dirname(found) if found else folders[-1] if folders else None


@contextlib.contextmanager
def postgres(where=None):
    """Start a server of its own on loopback, on a free port; yield how to make a database."""
    programs = postgres_programs()
    folder = tempfile.mkdtemp(prefix="rpac-pg-", dir=where)
    user = {"user": "postgres"} if os.getuid() == 0 else {}
    if user:
        shutil.chown(folder, "postgres")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    run = lambda *command: subprocess.run(  # noqa: E731
        command, check=True, cwd=folder, stdout=subprocess.DEVNULL, **user
    )
    run(f"{programs}/initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "rpac")
    options = (
        f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} "
        f"-c max_connections=300 -c default_transaction_isolation=serializable"
    )
    pg_ctl = (f"{programs}/pg_ctl", "-D", f"{folder}/data", "-w")
    run(*pg_ctl, "-o", options, "-l", f"{folder}/log", "start")
    try:
        yield lambda name: _database(f"postgresql://rpac@127.0.0.1:{port}", name)
    finally:
        run(*pg_ctl, "-m", "immediate", "stop")
        shutil.rmtree(folder)


def _database(server, name):
    import psycopg

    with psycopg.connect(f"{server}/postgres", autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name}")
    return f"{server}/{name}"


# --- the long run -------------------------------------------------------------------------------


def bare_fsyncs(folder, seconds=1.0, size=512):
    """Return how often an append of `size` bytes can be synchronised in a second."""
    file = os.open(f"{folder}/bare", os.O_CREAT | os.O_RDWR | os.O_TRUNC)
    start, n = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        os.pwrite(file, bytes(size), size * n)
        os.fsync(file)
        n += 1
    os.close(file)
    return n / seconds


def big(where, entries=1_000_000):
    """A ledger of a million entries: balance, verification, size."""
    ledger = rpac.Ledger(where, budget=1e6)
    with ledger._store.exclusive():  # one transaction: the entries are what a spend writes
        head, body = ledger._chain.head(), None
        for i in range(entries):
            accounts = ledger._accounts(UNIT, Line("v" * 64, "s" * 64))
            ledger._store.put(*accounts)
            body = {
                "nano": UNIT, "key": f"{i}", "request": "", "dataset": "", "version": "v" * 64,
                "secret": "s" * 64, "analyst": "", "session": "", "answer": None,
            }  # fmt: skip
            entry = ledger._chain.append("spend", body, head, f"{i}")
            head = Position(entry["seq"], entry["hash"])
    ledger._chain.anchor.reset(head)
    start = time.perf_counter()
    assert ledger.remaining > 0
    balance = time.perf_counter() - start
    start = time.perf_counter()
    ledger.verify()
    verify = time.perf_counter() - start
    ledger.close()
    return {"balance ms": 1e3 * balance, "verify s": verify,
            "MB": os.path.getsize(where) / 1e6}  # fmt: skip


def main() -> None:
    """Print every part in full."""
    folder = tempfile.mkdtemp(prefix="rpac-ledger-", dir=os.environ.get("RPAC_DISK"))
    os.environ["XDG_STATE_HOME"] = f"{folder}/state"  # not the user's own
    parts = set(sys.argv[1:])
    want = lambda name: not parts or name in parts  # noqa: E731
    print(f"\n## The ledger (SQLite {sqlite3.sqlite_version})\n")
    try:
        print(f"- bare synchronised appends on this disk: {bare_fsyncs(folder):.0f}/s")
        if want("load"):
            print(f"- 64 processes x 1,000 spends: {load(f'{folder}/load.db', 64, 1_000)}")
        if want("kills"):
            print(f"- kill -9 at random: {kills(f'{folder}/kills.db', 1_000)}")
            print(f"- wrong after 50 kills at each point: "
                  f"{dict(crash_points(f'{folder}/points.db', 50))}")  # fmt: skip
        if want("damage"):
            print(f"- 1,000 flips, truncations, lost journals: {dict(flips(folder, 1_000))}")
            print(f"- rollbacks refused: {rollbacks(folder, 200)} of 200")
            put_back = {part: restored(folder, part, 100) for part in PARTS}
            print(f"- put back alone, refused of 100: {put_back}")
            print(f"- disk full (refusals, lost), 100 runs: {disk_full(folder, 100)}")
            print(f"- file limit of the kernel (refusals, lost), 50: {file_limit(folder, 50)}")
            print(f"- read-only refused: {read_only(tempfile.mkdtemp(dir=folder))}")
        if want("retries"):
            print(f"- 10,000 retries (charges, answers): {retries(f'{folder}/retry.db', 10_000)}")
        if want("big"):
            print(f"- a million entries: {big(f'{folder}/big.db')}")
        if want("postgres") and postgres_programs():
            with postgres(os.environ.get("RPAC_DISK")) as database:
                print(f"- PostgreSQL, 200 clients x 500: {load(database('load'), 200, 500)}")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
