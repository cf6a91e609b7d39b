"""Open every page of the built site in a real browser, and ask its search: `make docs`.

At both widths, light and dark: nothing on the console, no request that leaves the machine, nothing
that axe-core finds wrong, nothing that sticks out sideways. Pages come from a server on loopback;
that they work from a file as well is seen in the search, which is asked in both ways.
"""

import functools
import http.server
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from tests import browser

from website.build import SITE

WIDTHS = (1280, 390)
QUESTIONS = {
    "is my patient protected": ("promises.html", "questions.html"),
    "which budget": ("choose.html",),
    "how many questions can I ask": ("questions.html", "choose.html"),
    "error bars": ("questions.html",),
    "group by": ("interface/statistics.html", "frames.html"),
    "negative count": ("questions.html",),
    "postgres": ("scale.html",),
    "differential privacy epsilon": ("promises.html",),
    "what do I publish": ("questions.html",),
    "install": ("first-answer.html",),
}
"""What newcomers type, and the pages of which one has to come first."""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files, and says nothing of it."""

    def log_message(self, *_):
        """Say nothing."""


@contextmanager
def served(folder):
    """Serve a folder on loopback; yield its address."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def look(driver, base, page):
    """Open a page; return what is wrong with it, a sentence each."""
    driver.get(f"{base}/{page}")
    found = [f"axe-core: {rule}: {element}" for rule, element in browser.violations(driver)]
    for address in browser.requests(driver):
        if not address.startswith((f"{base}/", "data:")):
            found.append(f"asked for {address}")
    found += [f"console: {entry['message']}" for entry in driver.get_log("browser")]
    wide, screen = driver.execute_script(
        "return [document.documentElement.scrollWidth, window.innerWidth]"
    )
    return found + ([f"{wide} wide on a screen of {screen}"] if wide > screen else [])


def open_all(base, pages):
    """Open all pages at all widths, in light and dark at once; return what is wrong."""
    with ThreadPoolExecutor() as two:
        return sum(two.map(lambda dark: open_each(base, pages, dark=dark), (False, True)), [])


def open_each(base, pages, *, dark):
    """Open all pages at all widths in one of light and dark; say what is wrong as it is found."""
    found, kind = [], "dark" if dark else "light"
    with tempfile.TemporaryDirectory() as profile, browser.chromium(profile, dark=dark) as driver:
        driver.set_script_timeout(300)  # tables of a thousand cells
        for width in WIDTHS:
            browser.resize(driver, width)
            for page in pages:
                wrong = [f"{page} at {width}, {kind}: {said}" for said in look(driver, base, page)]
                print(*wrong, sep="\n", end="\n" if wrong else "", flush=True)
                found += wrong
            print(f"{len(pages)} pages at {width}, {kind}", flush=True)
    return found


RESULTS = """
const host = [...document.querySelectorAll("*")].find(node => node.shadowRoot);
if (!host || !host.shadowRoot.querySelector("input")) return null;
return [host.shadowRoot.querySelector("input").value,
        [...host.shadowRoot.querySelectorAll("li > a")].map(link => link.href)];
"""


def first(driver, base, question):
    """Type a question into the search, as people do; return the page that is found first."""
    driver.get(f"{base}/index.html")
    wait(lambda: driver.find_elements(By.CSS_SELECTOR, ".md-search__button"))[0].click()
    wait(lambda: driver.execute_script(RESULTS))
    time.sleep(0.5)  # the index is read
    for letter in question:
        ActionChains(driver).send_keys(letter).perform()
        time.sleep(0.03)
    wait(lambda: driver.execute_script(RESULTS)[0] == question)
    time.sleep(0.5)  # the answer to the last letter
    links = driver.execute_script(RESULTS)[1]
    return links[0].removeprefix(f"{base}/").partition("?")[0] if links else "nothing"


def wait(ready, seconds=20):
    """Return what `ready` does, as soon as it is something."""
    end = time.monotonic() + seconds
    while not (there := ready()):
        if time.monotonic() > end:
            raise TimeoutError("the search did not answer")
        time.sleep(0.05)
    return there


def ask_all(base):
    """Ask the search of a site all questions; return what was found wrongly."""
    found = []
    with tempfile.TemporaryDirectory() as profile, browser.chromium(profile) as driver:
        browser.resize(driver, WIDTHS[0])
        for question, right in QUESTIONS.items():
            page = first(driver, base, question)
            if page not in right:
                found.append(f"search: {question!r} finds {page}, not {' or '.join(right)}")
    return found


def check(site=SITE, only=()):
    """Return all that is wrong with a site, or with some pages; print what was done."""
    if browser.missing():
        return [f"not checked: install {' and '.join(browser.missing())}"]
    pages = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    with served(site) as base:
        if only:
            return open_all(base, only)
        found = ask_all(base) + ask_all(f"file://{site}") + open_all(base, pages)
    print(f"{len(pages)} pages, {len(WIDTHS)} widths, light and dark; {len(QUESTIONS)} questions")
    return found


if __name__ == "__main__":
    problems = check(only=sys.argv[1:])
    print("\n".join(["", *problems]) if problems else "nothing wrong", flush=True)
    sys.exit(bool(problems))
