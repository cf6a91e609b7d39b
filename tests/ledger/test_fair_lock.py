"""Turns at a file: first come, first served, and never a safeguard."""

import os
import time

from benchmarks import ledger as long_run  # with smaller counts

from rpac.ledger.fair_lock import FairLock


def test_turns_are_taken_in_the_order_of_arrival(folder):
    path, (seen, told) = f"{folder}/lock", os.pipe()
    turns = FairLock(path)

    def come(name):
        with FairLock(path):
            os.write(told, name)

    with turns:
        assert os.pread(turns._file, 16, 0) == b""  # nobody else is there: no ticket
        children = []
        for ticket, name in enumerate((b"a", b"b"), 1):
            children.append(long_run.fork(come, name))
            while os.pread(turns._file, 8, 8) != ticket.to_bytes(8, "little"):
                time.sleep(0.001)
    with turns:  # back at once, but after those who wait
        os.write(told, b"c")
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    assert os.read(seen, 3) == b"abc"
    turns.close()


def test_a_turn_without_its_file_is_only_unfair(folder):
    turns = FairLock(f"{folder}/none/lock")
    with turns:
        pass
    turns.close()
