"""Privacy faults, seeded one at a time into a copy of the source: a test must fail for each.

Run it with `python -m benchmarks.faults [number ...]`; exit code 1 if a fault survives.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RELEASE, SESSION = "tests/release/test_release.py", "tests/release/test_conversation.py"
DRAWN, ANSWER = "tests/release/test_draw.py", "tests/release/test_answer.py"
LEDGER, GUARD = "tests/ledger/test_ledger.py", "tests/worlds/test_guard.py"
CHAIN, ANCHOR = "tests/ledger/test_chain.py", "tests/ledger/test_anchor.py"
STORE, SQLITE = "tests/ledger/test_store.py", "tests/ledger/test_sqlite.py"
ATTEMPTS = "tests/certificate/test_attempts.py"
SABOTAGE, CONFIDENCE = "tests/test_sabotage.py", "tests/certificate/test_confidence.py"
DRAW = "codes + self.at(system_uniforms(1, self.rank))[0]"
POWER = f"{DRAWN}::test_every_release_lies_on_the_public_grid_and_has_the_certified_power"
RESTART = f"{SESSION}::test_a_session_survives_a_restart"
COVER = f"{SESSION}::test_charges_cover_what_an_adaptive_analyst_learns[top-2]"
SURE = f"{SESSION}::test_noise_never_vanishes_when_the_posterior_is_sure"
RETRY = f"{LEDGER}::test_one_key_is_charged_once_and_has_one_answer[sqlite]"
FIND = f"{CHAIN}::test_verify_finds_what_was_changed"
GIVEN = f"{RELEASE}::test_a_given_secret_is_released_under_its_declared_prior"
CAPS = f"{LEDGER}::test_caps_of_datasets_and_analysts[sqlite]"
EXACT_CAP = (
    f"{LEDGER}::test_the_cap_is_met_to_the_nano_nat_and_the_refusal_says_what_is_left[sqlite]"
)
SYSTEM = f"{DRAWN}::test_noise_and_world_come_from_the_operating_system_only"
STATISTICAL = f"{RELEASE}::test_the_charge_of_a_statistical_bound"
FAILED_DRAW = f"{LEDGER}::test_a_draw_that_fails_charges_nothing[sqlite]"

# (what is wrong, file, text, its replacement, the test that must fail)
FAULTS = [
    ("noise halved", "noise/grid.py", DRAW, f"{DRAW} // 2".replace("codes + ", "codes + 1 * "), POWER),
    ("no noise", "noise/grid.py", DRAW, "codes", POWER),
    ("noise doubled, certificate of another law", "noise/grid.py", DRAW,
     DRAW.replace("self.at", "2 * self.at"), POWER),
    ("ugly noise cut off", "noise/grid.py", DRAW,
     "codes + np.clip(self.at(system_uniforms(1, self.rank))[0], -900, 900)", POWER),
    ("noise that depends on the secret", "noise/grid.py", DRAW,
     DRAW.replace("self.at", "(1 + (codes != 0)) * self.at"), POWER),
    ("noise of one axis used for all", "noise/grid.py", DRAW,
     "codes + self.at(np.repeat(system_uniforms(1, 1), self.rank, axis=1))[0]",
     "tests/noise/test_grid.py::test_axes_have_noise_of_their_own"),
    ("float noise added after the grid", "release/draw.py",
     "return law.decode(noisy_codes(codes, law, allow_exact=allow_exact))",
     "import numpy as np; d = law.dim; return law.decode(codes) + np.random.normal(0, (law.power / d) ** 0.5, d)",
     POWER),
    ("a seed in the release path", "noise/base.py", "os.urandom(8 * size)",
     "np.random.default_rng(0).bytes(8 * size)", SYSTEM),
    ("release randomness from NumPy's global state", "noise/base.py", "os.urandom(8 * size)",
     "np.random.bytes(8 * size)", SYSTEM),
    ("labels without a channel", "noise/label.py", "return self.at(codes, system_uniforms(1))",
     "return codes", f"{DRAWN}::test_labels_are_changed_as_often_as_the_channel_says"),
    ("zero noise released silently", "release/draw.py", "if not (law.power > 0 or allow_exact):",
     "if law.power < 0:", f"{DRAWN}::test_zero_noise_is_never_released"),
    ("always the same world", "release/draw.py",
     "return int(look_up(integer_table(weights), system_uniforms(1))[0])", "return 0",
     f"{DRAWN}::test_the_drawn_world_follows_the_prior"),
    ("a world drawn evenly, whatever the prior", "release/draw.py", "integer_table(weights)",
     "integer_table(0 * weights + 1)", f"{DRAWN}::test_the_drawn_world_follows_the_prior"),
    ("the error of a bound not booked", "release/release.py", "+ (1.0 - made.confidence) * most", "",
     STATISTICAL),
    ("the lower bound booked", "release/release.py", "        return made.bound\n    most",
     "        return made.lower\n    most", STATISTICAL),
    ("confidence booked in place of its error", "release/release.py", "(1.0 - made.confidence)",
     "made.confidence", STATISTICAL),
    ("a law that differs from its certificate", "release/release.py",
     'if law.describe()["digest"] != made.noise["digest"]:', "if False:",
     f"{RELEASE}::test_a_law_that_changes_after_its_certificate_is_not_released"),
    ("a given secret replaced by a draw", "release/release.py",
     "given = None if request.secret is None else given_worlds(request.source, request.secret)",
     "given = None", GIVEN),
    ("half-samples chosen by the caller", "release/draw.py", "if isinstance(source, Subsets):",
     "if False:", GIVEN),
    ("a given secret not clipped", "worlds/run.py",
     "return np.asarray(np.clip(row, *outputs.clip))", "return np.asarray(row)", GIVEN),
    ("judging draws reused", "release/release.py", "return secrets.randbits(63)", "return 0",
     f"{RELEASE}::test_an_open_distribution_is_judged_on_new_draws_every_time"),
    ("certified before the books are asked, then drawn", "release/release.py",
     "        ledger.check(charge(made), line)  # before", "        pass  # before",
     f"{RELEASE}::test_nothing_is_drawn_when_the_books_refuse"),
    ("the intervals give the spread of the noise only", "release/answer.py",
     "np.sqrt(np.square(noise) + outputs.spread)", "noise",
     f"{ANSWER}::test_intervals_hold_what_they_say"),
    ("a version that ignores the data", "worlds/source.py",
     "return fingerprint(self._data if self.frame is None else self.frame)", 'return ""',
     f"{RELEASE}::test_other_data_or_another_secret_are_other_lines"),
    ("an exception of the drawn secret passed on", "worlds/run.py",
     "except BaseException:  # whatever", "except ZeroDivisionError:  # whatever",
     "tests/worlds/test_run.py::test_no_failure_of_the_fresh_draw_comes_through"),
    ("what the mechanism prints is shown", "worlds/guard.py",
     "contextlib.redirect_stdout(io.StringIO()),", "",
     f"{GUARD}::test_a_fresh_draw_is_silent"),
    ("what the mechanism logs is shown", "worlds/guard.py", "logging.disable(logging.CRITICAL)",
     "pass", f"{GUARD}::test_a_fresh_draw_is_silent"),
    ("a panic passes the guard", "worlds/guard.py", "except BaseException:  # a panic",
     "except Exception:  # a panic", f"{GUARD}::test_what_goes_wrong_becomes_the_sentinel"),
    ("a given secret asked about again", "release/release.py",
     "digest(self.source.secret, secrets.token_hex(16))", "self.source.secret",
     "tests/release/test_conversation.py::test_a_given_secret_is_booked_once_or_asked_about_in_one_session"),
    ("a session state taken on trust", "release/conversation.py", "self._ledger.verify()", "None",
     "tests/release/test_conversation.py::test_a_state_rolled_back_with_its_seals_is_found"),
    ("a session copied", "release/conversation.py", "def __reduce_ex__(self", "def _reduce_ex(self",
     "tests/release/test_conversation.py::test_one_world_has_one_session"),
    ("threads in one session", "release/conversation.py",
     "with self._lock:\n            self._ready()", "if True:\n            self._ready()",
     "tests/release/test_conversation.py::test_one_world_has_one_session"),
    ("an empty group shows the person", "sql/query.py", "(_filled(values) / self._units)",
     "(np.where(np.isnan(values), self.full, values) / self._units)",
     "tests/sql/test_query.py::test_a_group_of_one_gets_noise_that_hides_the_person"),
    ("exceptions pass the guard", "worlds/guard.py",
     "except BaseException:  # a panic", "except SystemExit:  # a panic",
     f"{GUARD}::test_what_goes_wrong_becomes_the_sentinel"),
    ("another shape passes the guard", "worlds/guard.py", "common_form([self._form, form])", "pass",
     f"{GUARD}::test_what_goes_wrong_becomes_the_sentinel"),
    ("impure functions accepted", "worlds/run.py", "if not all(same):", "if False:",
     f"{GUARD}::test_impure_mechanisms_are_found"),
    ("outputs can be pickled", "_base/sealed.py", "    def __reduce__(self)", "    def _reduce(self)",
     "tests/worlds/test_outputs.py::test_sealed"),
    ("the public writer takes anything", "_base/sealed.py", "default=_refuse_other", "default=str",
     "tests/_base/test_sealed.py::test_sealed_values_have_no_public_form"),
    ("bits booked as nats", "ledger/entries.py", "nats.nats() if isinstance(nats, Nats | Bits) else nats",
     "nats.value if isinstance(nats, Nats | Bits) else nats",
     f"{LEDGER}::test_a_ledger_adds_up_and_survives_reopening[sqlite]"),
    ("bits are nats", "budget.py", "return float(self.value) * math.log(2.0)",
     "return float(self.value)", "tests/test_budget.py"),
    ("charges rounded down", "ledger/ledger.py", "nano = math.ceil(exact_nano(charge))",
     "nano = math.floor(exact_nano(charge))", EXACT_CAP),
    ("caps rounded up", "ledger/ledger.py",
     "cap = None if budget is None else math.floor(exact_nano(budget))",
     "cap = None if budget is None else math.ceil(exact_nano(budget))",
     f"{LEDGER}::test_caps_are_rounded_down"),
    ("a cap exceeded by its last charge", "ledger/ledger.py", "old.spent + nano > old.cap",
     "old.spent >= old.cap", f"{RELEASE}::test_nothing_is_drawn_when_the_books_refuse"),
    ("nothing is added to the balance", "ledger/ledger.py", "old.cap, old.spent + nano, note",
     "old.cap, old.spent, note", EXACT_CAP),
    ("the analyst's cap forgotten", "ledger/entries.py",
     'named = ("dataset", dataset), ("analyst", analyst),', 'named = ("dataset", dataset),', CAPS),
    ("the dataset's cap forgotten", "ledger/entries.py", '("dataset", dataset), ', "", CAPS),
    ("a cap lowered below what is spent", "ledger/ledger.py", "if cap < old.spent:", "if False:", CAPS),
    ("mixed secrets on one line", "ledger/ledger.py", 'old.note not in ("", line.secret)', "False",
     f"{LEDGER}::test_a_line_of_the_books_has_one_secret_and_new_data_a_new_line[sqlite]"),
    ("drawn before the check", "ledger/ledger.py",
     '            accounts = self._accounts(nano, line)\n            answer, state = draw() if draw else (None, b"")\n',
     '            answer, state = draw() if draw else (None, b"")\n            accounts = self._accounts(nano, line)\n',
     f"{LEDGER}::test_nothing_is_drawn_before_the_check_and_nothing_revealed_before_the_write[sqlite]"),
    ("revealed without a commit", "ledger/store.py", 'self.rows("COMMIT")', 'self.rows("ROLLBACK")',
     EXACT_CAP),
    ("half a transaction kept", "ledger/store.py", 'self.rows("ROLLBACK")', 'self.rows("COMMIT")',
     FAILED_DRAW),
    ("a retry draws anew", "ledger/chain.py", "WHERE e.key = ?", "WHERE e.key = ? || 'x'", RETRY),
    ("a key serves any request", "ledger/chain.py",
     'if request is not None and body["request"] != request:', "if False:", RETRY),
    ("the lock looked at too early", "ledger/chain.py",
     "entry = known or self.append(", "entry = self.append(",
     f"{LEDGER}::test_two_processes_with_one_key_share_one_answer[sqlite]"),
    ("altered entries accepted", "ledger/entries.py", "if chain_hash(seq, before, text) != own:",
     "if False:", FIND),
    ("altered balances accepted", "ledger/store.py", "if account.seal != seal:", "if False:", FIND),
    ("lost accounts accepted", "ledger/chain.py", 'if body["lines"] != self.store.lines():',
     "if False:", FIND),
    ("a new account not counted", "ledger/store.py", "self.seen.lines = None  # perhaps", "pass  # perhaps", CAPS),
    ("balances not recomputed", "ledger/chain.py", "if since == 0 and found != book:", "if False:",
     f"{CHAIN}::test_balances_are_recomputed_from_the_entries"),
    ("overspending not noticed by verify", "ledger/entries.py",
     "if new.cap is not None and new.spent > new.cap:",
     "if False:", f"{CHAIN}::test_an_entry_beyond_its_cap_is_found"),
    ("a rolled-back ledger accepted", "ledger/chain.py", "                and kept != (seq, own)\n",
     "                and False\n", f"{ANCHOR}::test_the_anchor_refuses_a_rolled_back_ledger"),
    ("the anchor is never written", "ledger/chain.py", "self._anchor.write(seq, head)", "pass",
     f"{ANCHOR}::test_the_anchor_refuses_a_rolled_back_ledger"),
    ("an earlier head overwrites the anchor", "ledger/anchor.py", "[0] >= seq:", "[0] >= seq + 99:",
     f"{ANCHOR}::test_an_anchor_keeps_the_latest_head_through_torn_writes"),
    ("a lost anchor accepted", "ledger/chain.py", "if kept is None and seq > 0:", "if False:",
     f"{ANCHOR}::test_a_lost_anchor_must_be_trusted_anew"),
    ("commits that do not wait for the disk", "ledger/sqlite.py", "synchronous=FULL", "synchronous=OFF",
     f"{SQLITE}::test_the_file_is_what_it_says"),
    ("entries can be rewritten", "ledger/sqlite.py", 'for change in ("UPDATE", "DELETE"):',
     "for change in ():", f"{CHAIN}::test_entries_cannot_be_changed_or_deleted[sqlite]"),
    ("balances taken from memory, whoever has written since", "ledger/store.py",
     "(kept if version == before else Snapshot())", "kept",
     f"{STORE}::test_what_others_write_is_seen_at_once[sqlite]"),
    ("attempts forgotten between processes", "ledger/ledger.py",
     'return int(self.record("attempt", change)["attempt"])', "return 1",
     f"{RELEASE}::test_attempts_are_counted_across_processes"),
    ("attempts forgotten within a process", "certificate/attempts.py",
     "self._counts[outputs] = self._counts.get(outputs, 0) + 1", "self._counts[outputs] = 1",
     f"{SABOTAGE}::test_three_hundred_proposals_of_equal_leakage_yield_none_below_it"),
    ("a budget exceeded by a certificate", "certificate/issue.py",
     "if not made.bound <= nats:", "if not made.bound <= 3 * nats:",
     f"{SABOTAGE}::test_a_cheating_calibrator_cannot_make_privatize_release"),
    ("the session's posterior stays the prior", "release/conversation.py",
     "        self._log_posterior = np.frombuffer(state, np.float64)\n        self._spent,",
     "        self._spent,", SURE),
    ("questions calibrated for the prior", "release/conversation.py",
     "weights = (1 - FLOOR) * np.exp(self._log_posterior) + FLOOR * self._prior",
     "weights = self._prior + 0.0", COVER),
    ("charges of a session halved", "release/conversation.py", "bound = proved_leakage(codes,",
     "bound = 0.5 * proved_leakage(codes,", COVER),
    ("a new world for every question", "release/conversation.py", "codes[self._world.open()]",
     "codes[draw_among(self._prior, None)]", SURE),
    ("a sure posterior answered without noise", "front/posterior.py", "min(nats, 0.5 * entropy",
     "min(nats, 2.0 * entropy", SURE),
    ("one axis of the answer forgotten in the posterior", "noise/grid.py",
     'np.add.reduce(log_mass.take(cells, mode="clip"), axis=0)',
     'log_mass.take(cells, mode="clip")[0]',
     f"{SESSION}::test_the_posterior_is_exact"),
    ("the session's cap ignored", "release/conversation.py", "if self._spent + nano > self._cap:", "if False:",
     f"{SESSION}::test_the_session_refuses_what_does_not_fit"),
    ("a charge under a stale posterior", "ledger/ledger.py",
     'if old.kind == "session" and old.note != line.state:', "if False:",
     f"{SESSION}::test_two_processes_in_one_session_cannot_charge_under_a_stale_posterior"),
    ("the state of a session not checked", "ledger/sessions.py",
     "sha256(state).hexdigest() != account.note", "False",
     f"{SESSION}::test_a_state_that_was_changed_is_refused"),
    ("the sealed store can be read by all", "release/sealed_store.py", "os.O_EXCL, 0o600", "os.O_EXCL, 0o644",
     RESTART),
    ("the sealed store is left behind", "release/sealed_store.py", "        self._path.unlink()\n", "",
     RESTART),
    ("the drawn world kept after the close", "release/conversation.py",
     "self._world = SealedValue(-1)", "pass", RESTART),
    ("a bet that sees its own draw", "certificate/confidence.py", "np.append(0.25, (spread / count)[:-1])",
     "(spread / count)", f"{CONFIDENCE}::test_a_stake_never_sees_its_own_draw"),
    ("a mean ruled out too early", "certificate/confidence.py", "goal = math.log(1.0 / delta)",
     "goal = 0.5 * math.log(1.0 / delta)", f"{CONFIDENCE}::test_coverage"),
    ("the mean length of noise overstated", "certificate/kernel.py", "- 1.01 * TAIL", "+ 0.5 * TAIL",
     "tests/certificate/test_kernel.py::test_the_mean_length_of_noise_is_never_overstated"),
    ("deficits clipped from below", "certificate/sampled.py", "np.minimum(rest[pilot:], cap)",
     "np.clip(rest[pilot:], np.median(rest), cap)",
     "tests/certificate/test_sampled.py::test_the_bound_on_deficits_holds_however_they_go_with_their_controls"),
    ("names that are no text", "_base/checks.py",
     "if not (isinstance(value, str) and all(", "if False and (bool(",
     f"{LEDGER}::test_names_and_keys_are_text[sqlite]"),
    ("the law of who came second, sealed beside another's answer", "release/release.py",
     "first = charged.state is not None", "first = True",
     f"{RELEASE}::test_who_comes_second_with_a_key_gets_the_first_ones_release"),
    ("an answer of another process counted as one's own", "ledger/ledger.py",
     "state if ours else None", "state",
     f"{SESSION}::test_who_comes_second_with_a_key_gets_the_first_ones_answer"),
    ("a query looked up in place of a second run", "sql/by_world.py",
     "self._first.pop(world, None)", "self._first.get(world)", "tests/sql/test_by_world.py"),
    ("a window over several units taken for one unit's", "sql/analysis.py",
     "scope.expression.find(*_UNSEEN) or ", "", "tests/sql/test_analysis.py"),
    ("a grouped subquery taken for the unit's own rows", "sql/analysis.py",
     'or inner.expression.args.get("group")', "", "tests/sql/test_analysis.py"),
    ("which public entries meet in somebody's row shows", "sql/domain.py",
     "self.torn or (isinstance(source, exp.Table) and source.name in private)", "self.torn",
     "tests/sql/test_domain.py::test_nothing_beside_the_numbers_tells_of_a_person"),
    ("a private condition cuts the rows of an answer", "sql/domain.py",
     'if analysis.role(scope, part) == "public"]', "]", "tests/sql/test_domain.py"),
    ("a name by EXISTS", "sql/analysis.py", '["measure"] else "private"', '["measure"] else "public"',
     "tests/sql/test_domain.py::test_nothing_beside_the_numbers_tells_of_a_person"),
    ("a count of each unit's rows is a name", "sql/analysis.py",
     "if own_nodes(node, *_BEYOND):", "if False:", "tests/sql/test_domain.py"),
    ("how many private groups there are shows", "sql/question.py",
     "if key in declared or analysis.role(", "if True or analysis.role(",
     "tests/sql/test_question.py::test_groups_that_are_not_shown_are_public_too"),
    ("an error on some rows is an error", "sql/by_world.py", "except MechanismError:",
     "except KeyError:", "tests/sql/test_by_world.py"),
    ("an aggregate of no known growth", "sql/functions.py", "if name in aggregates:", "if False:",
     "tests/sql/test_functions.py"),
    ("noise leads out of the calendar", "sql/measures.py", "seconds=min(max(value, _FIRST), _LAST)",
     "seconds=value", "tests/sql/test_measures.py"),
    ("rows that an outer join made up taken for owned ones", "sql/roles.py",
     "and key.table not in hollow", "", "tests/sql/test_roles.py"),
    ("the books' attempts forgotten by the process", "certificate/attempts.py",
     "        self.learn(outputs, number)\n", "",
     f"{ATTEMPTS}::test_no_mixture_of_memories_spends_the_error_twice"),
    ("any law taken from who proposes in a session", "release/conversation.py",
     "known = tabulate(outputs, law)", "known = law",
     f"{SESSION}::test_a_proposal_is_held_to_the_known_laws"),
    ("the judging half shown to who proposes", "release/release.py", "propose(outputs.planning)",
     "propose(outputs)", f"{RELEASE}::test_who_proposes_never_sees_the_judging_half"),
    ("an entry becomes the name of a column", "sql/parsing.py",
     "        _refuse_names_from_rows(tree)\n", "",
     "tests/sql/test_parsing.py::test_no_entry_becomes_the_name_of_a_column"),
    ("the type of a column tells its entries", "worlds/tables.py", "type(column.dtype).__name__",
     'f"{column.dtype}"', "tests/worlds/test_tables.py::test_the_type_of_a_column_tells_no_entry"),
    ("tables that draw otherwise than they say", "noise/grid.py",
     "if type(law) is not TableLaw]", "if law is None]",
     "tests/noise/test_lattice.py::test_a_table_of_another_kind_is_no_axis"),
    ("draws judged a second time", "certificate/attempts.py",
     "return self._laws.setdefault(outputs, law) == law", "return True",
     "tests/certificate/test_open.py::test_a_second_noise_on_the_same_draws_is_refused"),
    ("draws judged a second time in another process", "ledger/ledger.py",
     "return known == law", "return True",
     f"{ATTEMPTS}::test_judgements_survive_the_process_in_a_ledger"),
    ("outputs patched after they were made", "_base/frozen.py",
     'value: object) -> None:\n        if getattr(self, "_frozen", False):',
     "value: object) -> None:\n        if False:",
     "tests/worlds/test_outputs.py::test_outputs_are_complete_when_made_and_stay_so"),
    ("a snapshot kept after a failure", "ledger/store.py",
     "(before, kept), self._committed = self._committed, (None, Snapshot())",
     "before, kept = self._committed", f"{STORE}::test_what_failed_is_not_known"),
    ("a closed session that can be loaded", "ledger/sessions.py", '_replace(note="closed")',
     "_replace()", "tests/ledger/test_sessions.py::test_a_closed_session_is_closed_for_good"),
]  # fmt: skip

OUTSIDE = {
    "budget.py": "a root file, covered like the trusted folders: budgets are public names",
    "front/posterior.py": "proposes, and is not trusted; the session's own refusal of noise "
    "without power is what would withhold the answer",
}
"""Faults that lie in no trusted folder, by file, and why."""


def survives(fault) -> bool:
    """Seed a fault into a copy of the source; return whether its test still passes."""
    _, file, old, new, test = fault
    with tempfile.TemporaryDirectory() as folder:
        for part in ("src", "tests", "benchmarks", "examples"):
            shutil.copytree(ROOT / part, f"{folder}/{part}",
                            ignore=shutil.ignore_patterns("__pycache__"))  # fmt: skip
        path = Path(folder, "src/rpac", file)
        text = path.read_text()
        if text.count(old) != 1:
            raise ValueError(f"{file} holds {old!r} {text.count(old)} times")
        path.write_text(text.replace(old, new))
        env = os.environ | {"PYTHONPATH": f"{folder}/src", "PYTHONDONTWRITEBYTECODE": "1"}
        options = ["-x", "-q", "-p", "no:cacheprovider", "--rootdir", folder, "-W", "error"]
        command = [sys.executable, "-m", "pytest", *options, f"{folder}/{test}"]
        run = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
        if run.returncode not in (0, 1):
            raise RuntimeError(f"{fault[0]}: pytest could not run\n{run.stdout[-2000:]}")
        return run.returncode == 0


def main() -> None:
    """Seed every fault; print what survives."""
    numbers = [int(a) for a in sys.argv[1:]] or range(len(FAULTS))
    alive = []
    for i in numbers:
        if survives(FAULTS[i]):
            alive.append(FAULTS[i][0])
            print(f"SURVIVES {i}: {FAULTS[i][0]}", flush=True)
    print(f"\n## Seeded faults\n\n{len(numbers) - len(alive)} of {len(numbers)} killed", flush=True)
    sys.exit(bool(alive))


if __name__ == "__main__":
    main()
