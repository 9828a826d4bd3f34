"""The page in headless Chromium: drawn, usable, without an error, and without a request."""

import base64
import json
import shutil
from importlib import resources
from pathlib import Path

import pytest

from toydepth.report.page import page
from toydepth.report.report_command import build_report
from toydepth.results.report_record import ReportRecord

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason="chromium or chromedriver is not installed (on Debian: chromium, chromium-driver)",
)
QUIET = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run
--disable-background-networking --disable-component-update --disable-sync""".split()
HOSTILE = "<script>alert(1)</script> <b>é深さ'\"</b><img src=x onerror=alert(2)>"
STILL = "document.querySelector('#losses img.still')"
DRAWN = "return document.querySelectorAll('.js-plotly-plot').length"


class Browser:
    """One tab at a time: each page has a new one, since an old one logs what came before."""

    def __init__(self, profile):
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for argument in [*QUIET, f"--user-data-dir={profile}"]:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
        self.driver.set_script_timeout(300)

    def command(self, name, **parameters):
        return self.driver.execute_cdp_cmd(name, parameters)

    def open(self, file, width=1440, height=12000, scheme="light", first=None):
        """In a new tab, which is given the commands `first` before."""
        old = self.driver.current_window_handle
        self.driver.switch_to.new_window("tab")
        new = self.driver.current_window_handle
        self.driver.switch_to.window(old)
        self.driver.close()
        self.driver.switch_to.window(new)
        for kind in ("browser", "performance"):
            self.log(kind)
        screen = {"width": width, "height": height, "deviceScaleFactor": 1}
        self.command("Emulation.setDeviceMetricsOverride", **screen, mobile=width < 500)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.command("Emulation.setEmulatedMedia", features=features)
        for name, parameters in (first or {}).items():
            self.command(name, **parameters)
        self.driver.get(Path(file).as_uri())

    def run(self, script):
        return self.driver.execute_script(script)

    def wait(self, script):
        """Until the script's value is true."""
        from selenium.webdriver.support.wait import WebDriverWait

        WebDriverWait(self.driver, 300, 0.05).until(lambda _: self.run(script))

    def all_drawn(self):
        """Waits for it; returns the number of plots."""
        self.wait(f"{DRAWN} === document.querySelectorAll('[data-plot]').length")
        return self.run(DRAWN)

    def keys(self, *keys):
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def log(self, kind):
        return [entry["message"] for entry in self.driver.get_log(kind)]

    def console(self):
        return self.log("browser")

    def requests(self):
        messages = [json.loads(message)["message"] for message in self.log("performance")]
        sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        addresses = {one["request"]["url"] for one in sent}
        return {address for address in addresses if not address.startswith("data:")}

    def print(self):
        return base64.b64decode(self.command("Page.printToPDF")["data"])


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.driver.quit()


@pytest.fixture(scope="module")
def two(tmp_path_factory, write_run, network_record, probe_record):
    folder = tmp_path_factory.mktemp("runs")
    write_run(folder / "a", "shared", **{"student.note": HOSTILE})
    write_run(folder / "b", "independent", **{"student.note": "plain"})
    step = {"value": 0.03, "stderr": None, "low": 0.02, "high": 0.04}
    network = network_record(
        kind="student", label=f"student {HOSTILE}", depth=3, facts={}, middle_step=step,
        updates=step | {"value": 0.46, "verdict": "orthogonal: averaging"},
        theta_updates={"mean": [0.45, 0.47]},
    )  # fmt: skip
    (folder / "probe.json").write_text(json.dumps(probe_record(HOSTILE, [network])))
    build_report([folder])
    return folder / "report.html"


@pytest.fixture(scope="module")
def many(tmp_path_factory, many_regimes):
    report = ReportRecord(regimes=many_regimes(200))
    file = tmp_path_factory.mktemp("many") / "report.html"
    file.write_text(page(report), encoding="utf-8")
    return file


def test_plots_are_drawn_and_nothing_is_asked_for(browser, two):
    watch = f"""new MutationObserver(() => {{ window.stood ||= {STILL} !== null; }})
      .observe(document, {{ childList: true, subtree: true }})"""
    browser.open(two, first={"Page.addScriptToEvaluateOnNewDocument": {"source": watch}})
    assert browser.all_drawn() == 7
    assert browser.run(f"return [stood, {STILL}]") == [True, None]  # until the plot was drawn
    assert browser.run("return document.querySelectorAll('.main-svg .trace').length") >= 7
    assert (browser.console(), browser.requests()) == ([], {two.as_uri()})


def test_an_image_stands_in_where_scripts_are_off(browser, two):
    browser.open(two, first={"Emulation.setScriptExecutionDisabled": {"value": True}})
    seen = browser.command("Runtime.evaluate", expression=f"{STILL}.naturalWidth")
    assert seen["result"]["value"] > 300


def test_the_policy_stops_what_would_ask(browser, two):
    browser.open(two)
    browser.run("""window.stopped = [];
      addEventListener("securitypolicyviolation", (e) => stopped.push(e.effectiveDirective));
      fetch("http://127.0.0.1:9/").catch(() => {});
      new Image().src = "http://127.0.0.1:9/";
      document.head.append(Object.assign(document.createElement("script"),
                                         { src: "http://127.0.0.1:9/" }));""")
    browser.wait("return stopped.length === 3")
    stopped = ["connect-src", "img-src", "script-src-elem"]
    assert sorted(browser.run("return stopped")) == stopped


def test_names_are_shown_as_text(browser, two):
    browser.open(two)
    browser.all_drawn()
    shown = browser.run("return document.body.innerText")
    assert f"shared, student.note = {HOSTILE}" in shown and f"student {HOSTILE}" in shown
    legend = browser.run("return document.querySelector('#losses .legend').innerText")
    assert HOSTILE in legend
    assert browser.run("return document.querySelectorAll('img, b > b').length") == 0
    # Plotly writes into the label that follows the pointer.
    hover = "Plotly.Fx.hover(document.querySelector('[data-plot=steps]'), {xval: 3, yval: 0.03})"
    browser.run(hover)
    label = "document.querySelector('[data-plot=steps] .hovertext')?.textContent"
    browser.wait(f"return {label}")
    words = browser.run(f"return {label}")
    assert f"student {HOSTILE}: 0.0300 π" in words and words.count(HOSTILE) == 2
    assert browser.console() == []


def test_plots_below_the_fold_wait_but_are_printed(browser, two):
    browser.open(two, height=700)
    assert 0 < browser.run(DRAWN) < 7
    paper = browser.print()
    assert paper.startswith(b"%PDF") and browser.run(DRAWN) == 7
    left = "return document.querySelectorAll('.paper, details[open]').length"
    assert browser.run(left) == 0 and browser.console() == []


def test_the_keyboard_sorts_the_table_and_hides_a_regime(browser, two):
    from selenium.webdriver import Keys

    browser.open(two)
    browser.all_drawn()
    first = "return document.querySelector('#table tbody th').textContent"
    alpha = "document.querySelectorAll('#table .sort')[1]"
    sort = f"return {alpha}.closest('th').getAttribute('aria-sort')"
    browser.run("document.querySelectorAll('#table .sort')[0].focus()")
    browser.keys(Keys.TAB, Keys.ENTER)
    assert browser.run(f"return document.activeElement === {alpha}")
    assert browser.run(sort) == "ascending" and browser.run(first).startswith("independent")
    browser.keys(Keys.ENTER)
    assert browser.run(sort) == "descending" and browser.run(first).startswith("shared")
    seen = """return document.querySelector('[data-plot=losses]').data
      .filter((t) => t.legendgroup === 'r0' && t.visible !== false).length"""
    assert browser.run(seen) == 3  # a band, a fit, the rungs
    browser.run("document.querySelector('#losses .legend button').focus()")
    browser.keys(Keys.SPACE)
    assert browser.run(seen) == 0
    pressed = "return document.querySelector('#losses .legend button').ariaPressed"
    assert browser.run(pressed) == "false"


@pytest.mark.parametrize(
    ("which", "width", "scheme"),
    [
        ("two", 390, "light"),
        ("two", 390, "dark"),
        ("two", 1440, "light"),
        ("two", 1440, "dark"),
        pytest.param("many", 390, "dark", marks=pytest.mark.slow),
    ],
)
def test_it_fits_the_screen_and_is_accessible(browser, which, width, scheme, request):
    try:
        axe = (resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
    except ModuleNotFoundError:
        pytest.skip("axe-core is not installed (pip install --no-deps axe-playwright-python)")
    browser.open(request.getfixturevalue(which), width, 900, scheme)
    browser.run("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    wide = browser.run("return document.documentElement.scrollWidth")
    assert wide <= width
    paper = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}[scheme]
    browser.run(axe)
    found = browser.driver.execute_async_script(
        "axe.run().then((found) => arguments[0](found.violations))"
    )
    faults = [
        (fault["id"], fault["impact"], [node["html"][:200] for node in fault["nodes"][:3]])
        for fault in found
    ]
    assert faults == []


def test_two_hundred_regimes_are_drawn(browser, many):
    browser.open(many, height=30000)
    assert browser.all_drawn() == 4 and browser.console() == []
