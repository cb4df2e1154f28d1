"""Every page in a real browser, at two widths, in light and dark: can it be read, is nothing cut?

Needs Debian's `chromium` and `chromium-driver`; skips with the reason where they are missing.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-sync",
    "--disable-component-update",
)
WIDTHS = (1280, 390)
THEMES = ("light", "dark")

# Faults of the page as it is shown now. Contrast after WCAG 2.1, 1.4.3: 4.5 for text, 3 for large
# text.
FAULTS = r"""
const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
canvas.canvas.width = canvas.canvas.height = 1;
const colours = new Map(), grounds = new Map();
function rgba(colour) {  // any CSS colour as four numbers
  if (!colours.has(colour)) {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    colours.set(colour, [r, g, b, a / 255]);
  }
  return colours.get(colour);
}
const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
function ground(element) {  // the colour behind the text of an element
  if (!element) return [255, 255, 255, 1];
  if (!grounds.has(element))
    grounds.set(element, over(rgba(getComputedStyle(element).backgroundColor), ground(element.parentElement)));
  return grounds.get(element);
}
function luminance(colour) {
  const [r, g, b] = colour.slice(0, 3).map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  return .2126 * r + .7152 * g + .0722 * b;
}
function contrast(text, behind) {
  const [high, low] = [luminance(text), luminance(behind)].sort((a, b) => b - a);
  return (high + .05) / (low + .05);
}
const seen = element => element.checkVisibility({opacityProperty: true, visibilityProperty: true});
const name = element => element.tagName.toLowerCase() + [...element.classList].map(c => "." + c).join("");
document.head.insertAdjacentHTML("beforeend", "<style>* { transition: none !important; animation: none !important; }</style>");
const faults = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const words = walker.currentNode.textContent.trim(), element = walker.currentNode.parentElement;
  if (!words || !seen(element) || element.closest("script, style, svg, math, noscript")) continue;
  const style = getComputedStyle(element), behind = ground(element);
  const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
  const found = contrast(over(rgba(style.color), behind), behind);
  if (found < (large ? 3 : 4.5))
    faults.push(`contrast ${found.toFixed(1)}: ${words.slice(0, 40)} (${name(element)})`);
}
for (const element of document.querySelectorAll("body *")) {
  if (!seen(element) || element.scrollWidth <= element.clientWidth + 1 || !element.clientWidth) continue;
  const flow = getComputedStyle(element).overflowX, box = element.getBoundingClientRect();
  if (box.width < 3 || element.closest("svg, math, .visually-hidden, .skip-link")) continue;
  if (flow === "hidden" || flow === "clip")
    faults.push(`cut: ${name(element)} shows ${element.clientWidth} of ${element.scrollWidth} pixels`);
  if (flow === "auto" || flow === "scroll") {
    const cue = element.previousElementSibling;
    if (!(cue && cue.matches(".scroll-cue") && seen(cue) && element.tabIndex === 0))
      faults.push(`scrolls without a cue: ${name(element)} shows ${element.clientWidth} of ${element.scrollWidth} pixels`);
    else if (innerWidth >= 1280 && element.querySelector("table"))
      faults.push(`a table wider than the page: ${name(element)}, ${element.scrollWidth} pixels`);
  }
}
for (const cell of document.querySelectorAll("section td, section th")) {
  const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), range = document.createRange();
  while (seen(cell) && walk.nextNode()) {
    for (const word of walk.currentNode.data.matchAll(/[\w.\u2212+]{2,24}/g)) {
      range.setStart(walk.currentNode, word.index);
      range.setEnd(walk.currentNode, word.index + word[0].length);
      const lines = [...range.getClientRects()].filter(each => each.width).map(each => Math.round(each.top));
      if (new Set(lines).size > 1) faults.push(`a broken word: ${word[0]} (${name(cell)})`);
    }
  }
}
if (document.documentElement.scrollWidth > innerWidth + 1)
  faults.push(`the page scrolls sideways: ${document.documentElement.scrollWidth} of ${innerWidth} pixels`);
return faults;
"""


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    "A browser without a window that talks to nobody."
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    missing = [name for name, path in programs.items() if path is None]
    if missing:
        pytest.skip(f"no {' and no '.join(missing)} here: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = programs["chromium"]
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(programs["chromedriver"])
    )
    yield driver
    driver.quit()


def resize(browser: webdriver.Chrome, width: int) -> None:
    "A window, or a telephone, of this width."
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def looks_at(page: str, number: int) -> list[tuple[int, str]]:
    "Widths and themes of a page: all, but of reports, which have one template, one in turn."
    everything = [(width, theme) for width in WIDTHS for theme in THEMES]
    report = page.startswith("results/participants/") and not page.endswith("/index.html")
    return [everything[number % len(everything)]] if report else everything


def choose(browser: webdriver.Chrome, theme: str) -> None:
    "Have the reader's system prefer light or dark."
    prefers = [{"name": "prefers-color-scheme", "value": theme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": prefers})


def faults(browser: webdriver.Chrome, page: Path, looks: list[tuple[int, str]]) -> list[str]:
    "What is wrong with a page, at some widths and in some themes."
    browser.get(page.resolve().as_uri())
    found = []
    for width, theme in looks:
        resize(browser, width)
        choose(browser, theme)
        browser.execute_script("dispatchEvent(new Event('resize'))")
        found += [f"{width} {theme}: {each}" for each in browser.execute_script(FAULTS)]
    return found


def test_every_page_can_be_read(browser: webdriver.Chrome, site: Path) -> None:
    names = {page.relative_to(site).as_posix(): page for page in sorted(site.rglob("*.html"))}
    found = {
        name: faults(browser, page, looks_at(name, number))
        for number, (name, page) in enumerate(names.items())
    }
    bad = [f"{page}: {each}" for page, each_page in found.items() for each in each_page]
    assert len(found) > 10
    assert not bad, f"{len(bad)} faults:\n" + "\n".join(bad[:60])


@pytest.mark.parametrize("theme", THEMES)
def test_the_reader_s_system_decides_between_light_and_dark(
    browser: webdriver.Chrome, site: Path, theme: str
) -> None:
    choose(browser, theme)
    browser.get((site / "index.html").as_uri())
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (theme == "light")


def test_what_a_legend_calls_bold_is_bold(browser: webdriver.Chrome, site: Path) -> None:
    browser.get((site / "index.html").as_uri())
    weights = browser.execute_script(
        "return [...document.querySelectorAll('.matrix td')]"
        ".map(cell => [cell.classList.contains('claimed'), getComputedStyle(cell).fontWeight])"
    )
    assert any(claimed for claimed, _ in weights)
    assert all((int(weight) >= 600) == claimed for claimed, weight in weights), weights
