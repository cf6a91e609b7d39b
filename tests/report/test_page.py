"""Reports: what is in them, what never is, and how they stand in a real browser."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import rpac
from rpac.certificate.certificate import FACT
from rpac.report import wording
from rpac.report.page import Imprint, Sealed, figures, first_number, number, render
from rpac.report.record import record, said
from tests import browser


def test_the_public_report_names_nobody_and_the_sealed_one_does(made):
    certificate = made.release.certificate
    public = render(made.body, made.certificate)
    sealed = render(made.body, made.certificate, made.sealed)
    for words in ("Who is most exposed", "Between attack", "nats remain", "Noise against budget",
                  "60 in", "nats were charged"):  # fmt: skip
        assert (words in public, words in sealed) == (False, True), words
    assert "Sealed: for the owner" in sealed
    rates = [float(text) for text in re.findall(r"<td>([0-9.]+) %</td>", sealed)]
    assert rates == sorted(rates, reverse=True)
    assert len(rates) == len(made.audit.worst_units) > 1
    (certified,) = re.findall(r"([\d.]+) % that is certified", sealed)
    assert 0 <= float(certified) - 100 * certificate.worst_unit_success < 0.1  # rounded up
    for words in ("What is protected", "Not protected", "How to verify", "a&lt;b",
                  "Promise: sample", "public by declaration"):  # fmt: skip
        assert words in public
    assert public.index("Promise: sample") < public.index("The answer")
    assert "a<b" not in public
    assert not re.search(r"(src|href)=.(?!data:,)", public)


def test_the_report_holds_every_figure_of_the_record(made):
    page = render(made.body, made.certificate)
    for row in made.body["answer"]:
        for name in ("pay", "n"):
            cell = row[name]
            assert f">{number(cell['value'])}</span>\n" in page
            for kind, label in (("noise", "noise"), ("sampling", "with sampling")):
                low, high = (f'<span class="one">{number(end)}</span>' for end in cell[kind])
                assert f"{label}: {low} to {high}<" in page
    whole = render(made.body, made.certificate, made.sealed)
    for shown, certificate in ((page, made.certificate), (whole, made.release.certificate)):
        for label, text in certificate.figures():
            assert f'<th scope="row">{label}</th>' in shown
            assert text in shown.replace("&lt;", "<")
        assert wording.character(certificate.bound) in shown
    for limit, text in wording.GUIDE:
        assert f"<td>up to {limit:g}</td><td>{text}</td>" in whole
    receipt = made.release.receipt
    assert f"entry {receipt.seq} of ledger <code>{receipt.ledger[:8]}</code>" in page
    assert f"{receipt.nats:.6g} nats were charged to dataset\n  staff on {receipt.date}." in whole
    assert f"It was charged to dataset\n  staff on {receipt.date}." in page
    assert wording.meaning(made.certificate) in page


def test_a_report_without_plan_audit_or_ledger(made):
    bare = made.body | {"receipt": None}
    page = render(bare, made.certificate)
    assert "No ledger: spending was not recorded" in page
    assert "--ledger" not in page
    assert page.count("<svg") == 1
    empty = Sealed(made.release.certificate, 60, [])
    sealed = render(bare, made.certificate, empty)
    assert "Nobody was attacked" in sealed
    assert "No attack was run for this report" in sealed
    assert "Noise against budget" not in sealed
    assert sealed.count("<svg") == 2


def test_a_fact_of_the_pool_is_named_beside_the_number(made):
    row = {"dept": "lab", "sick": {"value": 1, "fact": FACT}}
    certificate = replace(made.certificate, facts=("lab: sick",))
    page = render(made.body | {"answer": [row]}, certificate)
    assert f'<span class="soft fact">{FACT}</span>' in page
    assert "lab: sick: the same in every world" in page
    assert page.count("<svg") == 0  # it has no interval to draw


def test_what_people_wrote_is_never_markup(made):
    hostile = "<script>alert(1)</script>"
    body = made.body | {
        "question": hostile,
        "about": made.body["about"] | {"unit": hostile},
        "answer": [{hostile: "x", "pay": row["pay"]} for row in made.body["answer"]],
        "receipt": made.body["receipt"] | {"dataset": hostile},
    }
    worst = [{"unit": hostile, "success": 0.6, "low": 0.5, "high": 0.7}]
    page = render(body, made.certificate, replace(made.sealed, worst=worst))
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 6


def test_tags_are_closed_and_headings_are_named(made):
    class Tags(HTMLParser):
        def __init__(self):
            super().__init__()
            self.stack, self.ids, self.named = [], [], []

        def handle_starttag(self, tag, attrs):
            found = dict(attrs)
            self.ids += [found["id"]] if "id" in found else []
            self.named += [found["aria-labelledby"]] if "aria-labelledby" in found else []
            if tag not in {"meta", "link"}:
                self.stack.append(tag)

        def handle_startendtag(self, tag, attrs):
            pass

        def handle_endtag(self, tag):
            assert self.stack.pop() == tag

    tags = Tags()
    tags.feed(render(made.body, made.certificate, made.sealed))
    assert tags.stack == []
    assert len(tags.ids) == len(set(tags.ids))
    assert set(tags.named) <= set(tags.ids)


def test_the_first_column_of_numbers_is_drawn():
    cell = {"value": 1.0, "noise": [0.0, 2.0], "sampling": None}
    assert first_number([{"k": "a", "x": 1, "y": cell}, {"k": "b", "x": cell, "y": cell}]) == "x"
    assert first_number([{"k": "a"}, {"k": "b"}]) is None
    assert first_number([]) is None
    endless = {"value": 1.0, "noise": ["-inf", "inf"]}
    assert first_number([{"k": "a", "x": endless, "y": cell}]) == "y"


def test_a_label_has_no_intervals_to_draw(made):
    body = {"answer": [{"answer": "yes"}]}
    assert figures(body, None) == {"intervals": ""}
    drawn = figures(body, Sealed(made.release.certificate, 60, []))
    assert set(drawn) == {"sandwich", "noise", "intervals"}
    assert (drawn["noise"], drawn["intervals"]) == ("", "")
    assert drawn["sandwich"].startswith('<svg id="sandwich"')


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1234567, "1,234,567"), (1234567.8, "1,234,570"), (12345.678, "12,345.7"), (0.1, "0.1"),
     (-2.5, "-2.5"), (None, ""), ("lab", "lab"), (True, "True")],
)  # fmt: skip
def test_numbers_are_for_people(value, shown):
    assert number(value) == shown


@pytest.mark.skipif(bool(browser.missing()), reason=f"not installed: {browser.missing()}")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_report_in_a_real_browser(made, tmp_path, dark):
    page = tmp_path / "report.html"
    page.write_text(render(made.body, made.certificate, made.sealed))
    with browser.chromium(tmp_path / "profile", dark=dark) as driver:
        driver.get(page.as_uri())
        for width in (1280, 390):
            browser.resize(driver, width)
            wide = driver.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width
            assert browser.violations(driver) == []
            browser.screenshot(driver, tmp_path / f"{width}.png")
            assert (tmp_path / f"{width}.png").stat().st_size > 20_000
            for name in ("sandwich", "noise-against-budget", "intervals"):
                box = driver.find_element("id", name).size
                assert box["width"] > 0.6 * min(width, 640)
                assert box["height"] > 50
        assert driver.get_log("browser") == []
        assert browser.requests(driver) == [page.as_uri()]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        back = "return getComputedStyle(document.body).backgroundColor"
        assert driver.execute_script(back) == "rgb(255, 255, 255)"


def test_counts_are_bars_from_zero_and_their_ends_are_named():
    counts = [{"": key, "answer": {"value": n, "noise": [n - 8, n + 8]}} for key, n in BARS.items()]
    drawn = figures({"answer": counts}, None)["intervals"]
    assert drawn.count('<rect class="band"') == 2
    sampled = [{"": "a", "x": {"value": 3, "noise": [2, 4], "sampling": [1, 5]}}] * 2
    for rows in (counts[:1], sampled, [{"": "a", "x": {"value": 3.5, "noise": [3, 4]}}] * 2):
        assert "<rect" not in figures({"answer": rows}, None)["intervals"]


def test_large_numbers_are_written_out():
    assert number(13663341.5) == "13,663,300"
    assert number(-1e6) == "-1,000,000"
    assert number(1e15) == "1e+15"


BARS = {"a": 900, "b": -3}


def test_a_report_says_who_wrote_it_when_and_by_what(made):
    imprint = Imprint("A <b> Office", "2026-05-01", "1.2.3")
    about = made.body["about"] | {"known_bounds": ["number of rows: 4 here."]}
    page = render(made.body | {"about": about}, made.certificate, None, imprint)
    assert "A &lt;b&gt; Office, 2026-05-01, rpac 1.2.3" in page
    assert "number of rows: 4 here." in page
    assert Imprint().line == ""
    bare = render(made.body, made.certificate)
    assert "rpac 1.2.3" not in bare
    assert "Matched epsilon" in render(made.body, replace(made.certificate, bound=0.1))
    assert "The books" not in bare


def test_every_group_is_drawn(made):
    rows = [
        {"k": f"group {i}", "x": {"value": float(i), "noise": [i - 1.0, i + 1.0]}}
        for i in range(60)
    ]
    drawn = figures({"answer": rows}, None)["intervals"]
    assert drawn.count('class="dot"') == 60
    assert "group 59" in drawn


def test_a_number_has_its_relative_error_beside_it(made):
    row = {"k": "a", "x": {"value": 10.0, "noise": [3.0, 17.0]}}
    page = render(made.body | {"answer": [row]}, made.certificate)
    assert '<span class="soft fact">±70 %: too noisy to publish</span>' in page
    assert "beyond 65 % do not publish it" in page
    assert "+-" not in page
    assert "do not publish it" in render(
        made.body | {"answer": [{"k": "a", "x": {"value": 1.0, "noise": ["-inf", "inf"]}}]},
        made.certificate,
    )


def test_a_report_says_who_can_verify_what_and_under_which_name(made):
    named = render(made.body, made.certificate, None, Imprint(record="my record.json"))
    assert ">rpac verify &#39;my record.json&#39;</pre>" in named
    assert "The owner of the books, who alone has them" in named
    assert "rpac verify &#39;my record.json&#39; --ledger LEDGER" in named
    bare = render(made.body | {"receipt": None}, made.certificate)
    assert ">rpac verify RECORD</pre>" in bare
    assert "LEDGER" not in bare
    assert "answers about the same people add up" in bare


def test_noise_alone_does_not_settle_the_axis_of_a_report():
    rows = [{"k": k, "x": {"value": 5.0, "noise": [4.0, 6.0]}} for k in "ab"]
    noisy = {"k": "other", "x": {"value": -120.0, "noise": [-697.0, 457.0]}}
    drawn = figures({"answer": [*rows, noisy]}, None)["intervals"]
    assert "too noisy to publish" in drawn
    assert ">-200<" not in drawn


def test_one_row_may_be_one_person_by_declaration(made):
    people = rpac.privatize(
        rpac.statistics.count(), rpac.Presence([1.0] * 90), rpac.SuccessRate(0.55)
    )
    body = record(said(people), "count()", about={"unit": "rows"})
    page = render(body, people.certificate)
    assert "Each row counts as one person, as was declared; the answer is about all" in page
    assert "somebody's rows are one row" in page
    assert "The units are those of" not in page
    assert "adding or removing one row, which counts as one person." in page
    owned = render(body | {"about": {"unit": "id"}}, people.certificate)
    assert "The units are those of <code>id</code>" in owned
    assert "Each row" not in owned
    assert "all rows of one person." in owned
    sampled = render(made.body | {"about": {"unit": "rows"}}, made.certificate)
    assert "as was declared; a secret half of them is in the sample" in sampled
    assert "right at most 59.93 % of the time" in page


WORDS = "cardiology gastroenterology_and_endoscopy"
LINES = """
    const texts = document.createTreeWalker(arguments[0], NodeFilter.SHOW_TEXT), broken = [];
    while (texts.nextNode()) {
      for (const found of texts.currentNode.data.matchAll(/[^ \\n]+/g)) {
        const range = document.createRange();
        range.setStart(texts.currentNode, found.index);
        range.setEnd(texts.currentNode, found.index + found[0].length);
        const tops = new Set([...range.getClientRects()].map(one => Math.round(one.top)));
        if (tops.size > 1) broken.push(found[0]);
      }
    }
    return broken;
"""


@pytest.mark.skipif(bool(browser.missing()), reason=f"not installed: {browser.missing()}")
@pytest.mark.parametrize("columns", [1, 2, 5])
def test_names_and_numbers_are_never_broken(made, tmp_path, columns):
    cell = {"value": -11_139_800_000.0, "noise": ["-inf", "inf"]}
    fine = {"value": 24_659.1, "noise": [-24_130.9, 25_187.4]}
    rows = [
        {"ward": word} | {f"total_of_{i}": fine if i else cell for i in range(columns)}
        for word in WORDS.split()
    ]
    page = tmp_path / "report.html"
    page.write_text(render(made.body | {"answer": rows}, made.certificate))
    with browser.chromium(tmp_path / "profile") as driver:
        driver.get(page.as_uri())
        for width in (1280, 390):
            browser.resize(driver, width)
            wide = driver.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width
            table = driver.find_element("css selector", "table")
            assert driver.execute_script(LINES, table) == []
            scale = (
                "const f = document.querySelector('svg.figure'); return f && "
                "f.getBoundingClientRect().width / 640 * parseFloat(getComputedStyle("
                "f.querySelector('text')).fontSize)"
            )
            shown = driver.execute_script(scale)
            assert shown is None or shown >= 12
