"""A headless Chromium that writes down every request and every word on its console."""

import base64
import json
import shutil
from contextlib import contextmanager
from pathlib import Path

import axe_core_python
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip
AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text()


def missing():
    """Return which of the two programs is not installed; empty if both are."""
    return [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]


@contextmanager
def chromium(profile, *, dark=False):
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        driver.get("about:blank")
        driver.get_log("performance")  # what the browser's own first page asked for
        driver.get_log("browser")
        yield driver
    finally:
        driver.quit()


def resize(driver, width, height=900):
    """Show the page as a screen of this width does."""
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
    )


def screenshot(driver, path):
    """Write the whole page as PNG."""
    shot = driver.execute_cdp_cmd(
        "Page.captureScreenshot", {"captureBeyondViewport": True, "format": "png"}
    )
    Path(path).write_bytes(base64.b64decode(shot["data"]))


def requests(driver):
    """Return the addresses that the page asked for."""
    found = []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            found.append(message["params"]["request"]["url"])
    return found


def violations(driver):
    """Return what axe-core finds wrong, as (rule, element) pairs."""
    driver.execute_script(AXE)
    result = driver.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'best-practice']}).then(done);"
    )
    return [(rule["id"], node["html"][:120]) for rule in result["violations"]
            for node in rule["nodes"]]  # fmt: skip
