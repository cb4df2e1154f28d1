"""Every page in a real browser, at two widths, in light and dark: can it be read, is nothing cut?

Needs Debian's `chromium` and `chromium-driver`; skips with the reason where they are missing.
"""

from io import StringIO
from pathlib import Path

import pandas as pd
import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
ActionChains = pytest.importorskip("selenium.webdriver.common.action_chains").ActionChains
Keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
WebDriverWait = pytest.importorskip("selenium.webdriver.support.ui").WebDriverWait

WIDTHS = (1280, 390)
THEMES = ("light", "dark")

FAULTS = (Path(__file__).parent / "data" / "page_faults.js").read_text()


def resize(browser, width):
    "A window, or a telephone, of this width."
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def looks_at(page, number):
    "Widths and themes of a page: all, but of reports, which have one template, one in turn."
    everything = [(width, theme) for width in WIDTHS for theme in THEMES]
    report = page.startswith("results/participants/") and not page.endswith("/index.html")
    return [everything[number % len(everything)]] if report else everything


def choose(browser, theme):
    "Have the reader's system prefer light or dark."
    prefers = [{"name": "prefers-color-scheme", "value": theme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": prefers})


def faults(browser, page, looks):
    "What is wrong with a page, at some widths and in some themes."
    browser.get(page.resolve().as_uri())
    found = []
    for width, theme in looks:
        resize(browser, width)
        choose(browser, theme)
        browser.execute_script("dispatchEvent(new Event('resize'))")
        found += [f"{width} {theme}: {each}" for each in browser.execute_script(FAULTS)]
    return found


# ---- the answers behind a number


def wait_for(browser, selector):
    "The elements of a page, as soon as a script has made them."
    return WebDriverWait(browser, 20).until(
        lambda page: page.find_elements("css selector", selector)
    )


def words(browser, selector):
    "The texts of all elements, read at once: a script may make them anew at any time."
    wait_for(browser, selector)
    read = "return [...document.querySelectorAll(arguments[0])].map(each => each.innerText)"
    return browser.execute_script(read, selector)


def choose_option(browser, label, option):
    "Choose an option of one of the lists that say whose answers are shown."
    selector = f"#choice label:nth-child({label}) option:nth-child({option})"
    wait_for(browser, selector)[0].click()
    WebDriverWait(browser, 20).until(
        lambda page: page.execute_script(
            "return document.querySelector(arguments[0])?.selected", selector
        )
    )


def open_first_page(browser, site, width, theme):
    "The first page in one of the sizes and themes, with nothing said before."
    resize(browser, width)
    choose(browser, theme)
    browser.get_log("browser")
    browser.get((site / "index.html").resolve().as_uri())


def saved(browser, number):
    "The table behind one of the buttons that save what is filtered."
    text = browser.execute_script(
        "return new Promise((found) => { const given = URL.createObjectURL;"
        "URL.createObjectURL = (blob) => { found(blob.text()); return given(blob); };"
        "document.querySelector(`.actions button:nth-of-type(${arguments[0]})`).click(); });",
        number,
    )
    return pd.read_csv(StringIO(text), keep_default_na=False)


@pytest.mark.parametrize(("width", "theme"), [*zip(WIDTHS, THEMES)])
def test_from_the_first_page_to_one_answer(browser, site, width, theme):
    open_first_page(browser, site, width, theme)
    wait_for(browser, ".matrix a.behind")[0].click()  # the first of three clicks
    assert len(wait_for(browser, ".prompts tbody tr")) > 10
    counted = words(browser, "#count")
    wait_for(browser, ".prompts tbody a")[0].click()
    cards = words(browser, ".cards article")
    assert len(cards) >= 2 and wait_for(browser, ".cards mark") and "%" in cards[0]
    assert browser.execute_script(FAULTS) == []

    address = browser.current_url
    browser.get("about:blank")
    browser.get(address)  # what was shared shows the same
    assert words(browser, ".cards article") == cards
    first = wait_for(browser, "#filters select")[0]
    first.find_elements("css selector", "option")[1].click()
    fewer = words(browser, "#count")
    assert fewer != counted and int(fewer[0].split()[0]) < int(counted[0].split()[0])
    rows, prompts, answers = (saved(browser, number) for number in (1, 2, 3))
    assert f"{len(rows)} of" in fewer[0].replace(",", "") and all(prompts["prompt"])
    assert [*prompts["item_id"]] == [*rows["item_id"]] == [*dict.fromkeys(answers["item_id"])]
    assert answers["times"].sum() == rows["asked"].sum()
    assert browser.get_log("browser") == []


@pytest.mark.parametrize(("width", "theme"), [(1280, "dark"), (390, "light")])
def test_from_the_first_page_to_two_participants(browser, site, width, theme):
    open_first_page(browser, site, width, theme)
    wait_for(browser, "main a[href='compare.html']")[0].click()
    links = wait_for(browser, "main li a:not([href*=people-as-published])")
    links[0].click()
    pair = words(browser, "main p.key a")[:2]
    assert len(wait_for(browser, ".forest tbody tr:not(.group)")) > 0
    assert browser.execute_script(FAULTS) == []
    saved = wait_for(browser, "a[download]")[0].get_attribute("href")
    assert Path(saved.removeprefix("file://")).read_text().startswith("paradigm,measure,")
    wait_for(browser, ".forest td.answers a")[0].click()
    wait_for(browser, ".prompts tbody a")[0].click()
    wait_for(browser, ".cards article.open h4 + *")
    shown = words(browser, ".cards article.open h4")
    assert pair == shown
    assert browser.get_log("browser") == []


def test_the_keyboard_reaches_an_answer(browser, site):
    def focused():
        return browser.execute_script("return document.activeElement.innerText")

    def press(key):
        ActionChains(browser).send_keys(key).perform()
        return focused()

    open_first_page(browser, site, 1280, "light")
    assert press(Keys.TAB) == "Skip to the content" and press(Keys.ENTER).startswith("Results")
    browser.get((site / "answers.html").resolve().as_uri())
    wait_for(browser, "#of-paradigm")
    browser.execute_script("document.querySelector('#of-paradigm').focus()")
    press(Keys.DOWN)
    wait_for(browser, "#of-participant option:nth-child(2)")
    press(Keys.TAB)
    press(Keys.DOWN)
    wait_for(browser, ".prompts tbody a")
    while "prompt 1" != press(Keys.TAB):
        assert browser.execute_script(
            "return getComputedStyle(document.activeElement).outlineStyle !== 'none'"
        )
    press(Keys.ENTER)
    WebDriverWait(browser, 20).until(lambda _: focused() == "Prompt 1")
    assert press(Keys.TAB) == "Close"
    press(Keys.ENTER)
    WebDriverWait(browser, 20).until(lambda _: focused() == "prompt 1")


def test_two_participants_side_by_side(browser, site):
    resize(browser, 1280)
    browser.get((site / "answers.html").resolve().as_uri())
    choose_option(browser, 1, 2)
    names = words(browser, "#choice label:nth-child(2) option")[1:]
    assert len(names) > 1
    choose_option(browser, 2, 2)
    choose_option(browser, 3, 2)
    wait_for(browser, ".prompts tbody a")[0].click()
    wait_for(browser, ".cards article.open h4")
    shown = [each.partition(" (")[0] for each in words(browser, ".cards article.open h4")]
    assert shown == [each.partition(" (")[0] for each in names[:2]]


def test_every_page_can_be_read(browser, site):
    names = {page.relative_to(site).as_posix(): page for page in sorted(site.rglob("*.html"))}
    found = {
        name: faults(browser, page, looks_at(name, number))
        for number, (name, page) in enumerate(names.items())
    }
    bad = [f"{page}: {each}" for page, each_page in found.items() for each in each_page]
    assert len(found) > 10
    assert not bad, f"{len(bad)} faults:\n" + "\n".join(bad[:60])


def test_simulated_participants_can_be_hidden(browser, site):
    browser.get((site / "index.html").resolve().as_uri())
    boxes = browser.find_elements("id", "hide-simulated")
    if not boxes:
        pytest.skip("all participants of this site are simulated")
    shown = "return [...document.querySelectorAll('.simulated')].some(e => e.checkVisibility())"
    assert browser.execute_script(shown)
    boxes[0].click()
    assert not browser.execute_script(shown)
    assert browser.execute_script(
        "return [...document.querySelectorAll('.matrix td:not(.simulated)')]"
        ".some(cell => cell.checkVisibility())"
    )


@pytest.mark.parametrize("theme", THEMES)
def test_the_reader_s_system_decides_between_light_and_dark(browser, site, theme):
    choose(browser, theme)
    browser.get((site / "index.html").as_uri())
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (theme == "light")


def test_what_a_legend_calls_bold_is_bold(browser, site):
    browser.get((site / "index.html").as_uri())
    weights = browser.execute_script(
        "return [...document.querySelectorAll('.matrix td')]"
        ".map(cell => [cell.classList.contains('claimed'), getComputedStyle(cell).fontWeight])"
    )
    assert any(claimed for claimed, _ in weights)
    assert all((int(weight) >= 600) == claimed for claimed, weight in weights), weights
