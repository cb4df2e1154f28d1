"""The folder for people in a real browser, on a phone's width: answers come back through import.

Needs Debian's `chromium` and `chromium-driver`; skips with the reason where they are missing.
"""

import json
import random

import pytest
from tiers import slow_but
from test_browser import FAULTS, WebDriverWait, resize, wait_for, words
from typer.testing import CliRunner

import cogbias as cb
from cogbias.backends.sim import answer_probabilities, exact_trials
from cogbias.cli import app
from cogbias.design import selected
from cogbias.exchange.people import read_answers
from cogbias.tables import CogbiasError

KEEP = """
window.kept = []; window.asked = [];
{
  const given = URL.createObjectURL;
  URL.createObjectURL = (blob) => { kept.push(blob); return given(blob); };
}
window.fetch = (...what) => { asked.push(what); return Promise.resolve({ok: true}); };
"""
CHOOSE = """const every = [...document.querySelectorAll(".jspsych-btn")];
window.chosen = every.find((one) => one.innerText === arguments[1]) ?? every[arguments[0]];"""
PRESS = """  // pressed again where the page did not listen yet; between two pages there is no text
const at = document.getElementById("jspsych-content");
return chosen.isConnected ? chosen.click() : at?.innerText"""
READ = "const done = arguments[0]; Promise.all(kept.map((each) => each.text())).then(done);"


def said(*line):
    "What a command prints."
    found = CliRunner().invoke(app, [str(each) for each in line])
    assert found.exit_code == 0, found.output
    return found.output


def press(page, number=0, label=""):
    "Press the button that bears a label, or else that of a number, and wait for what is next."
    wait_for(page, ".jspsych-btn")
    page.execute_script(CHOOSE, number, label)
    WebDriverWait(page, 20, 0.2).until(lambda page: page.execute_script(PRESS))


@pytest.fixture
def phone(browser):  # noqa: F811
    "The browser at the width of a phone, that keeps what a page saves."
    resize(browser, 390)
    browser.get_log("browser")
    added = []

    def run(script):
        "Run a script before any of the next page."
        source = {"source": script}
        added.append(browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", source))

    run(KEEP)
    browser.before = run
    yield browser
    for each in added:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", each)


def answers_of(rng, items):
    "What one simulated person answers to each item."
    drawn = {}
    for item in items:
        p = answer_probabilities("human", item)
        label = rng.choices([*p], weights=[*p.values()])[0]
        labels = [each["label"] for each in item["options"]]
        drawn[item["item_id"]] = label if item["answer"] == "number" else labels.index(label)
    return drawn


@pytest.mark.parametrize(
    "name", slow_but(["classic/framing"], ["classic/framing", "classic/anchoring"])
)
def test_simulated_people_answer_and_their_planted_effect_comes_back(name, phone, tmp_path):
    folder, people = tmp_path / "experiment", 12
    said("export", "jspsych", name, "--out", folder, "--questions", 40)
    asked = cb.paradigm(name)
    items = selected(asked.items(), asked.headline)
    records, rng = items.to_dict("records"), random.Random(1)
    (tmp_path / "data").mkdir()
    page = (folder / "index.html").resolve().as_uri()
    for number in range(people):
        phone.before(f"window.RESPONSES = {json.dumps(answers_of(rng, records))};")
        phone.get(f"{page}?simulate=data-only&list={number % 4}&PROLIFIC_PID=secret{number}")
        wait_for(phone, "#save")[0].click()
        (csv,) = phone.execute_async_script(READ)
        (tmp_path / "data" / f"{number}.csv").write_text(csv, encoding="utf-8")
        assert "secret" not in csv and '"passed"' in csv
    printed = said(
        "import", "answers", tmp_path / "data", "--paradigm", name, "--out", tmp_path / "o"
    )
    assert "guessed" not in printed and "mixed" not in printed and "40 of 40 wordings" in printed
    found = cb.headline(tmp_path / "o").iloc[0]
    planted = cb.headline(cb.effects(exact_trials("human", items), items)).iloc[0]["estimate"]
    assert (found["participant"], found["n_valid"]) == ("people/mine", 40 * people)
    assert found["ci_low"] < planted < found["ci_high"] and found["ci_low"] > 0
    assert phone.get_log("browser") == []


@pytest.mark.parametrize("name", ["classic/anchoring", "managerial/framing"])
def test_a_person_gets_to_the_end_by_hand(name, phone, tmp_path):
    folder = tmp_path / "experiment"
    said("export", "jspsych", name, "--out", folder, "--questions", 3)
    texts = folder / "texts.js"
    own = texts.read_text(encoding="utf-8")
    for what, given in (("completion_code", "C0DE"), ("post_to", "https://example.org/answers")):
        own = own.replace(f'"{what}": ""', f'"{what}": "{given}"')
    texts.write_text(own, encoding="utf-8")
    page = (folder / "index.html").resolve().as_uri()
    phone.get(f"{page}?list=0")  # some of the last lists hold two questions
    assert phone.execute_script(FAULTS) == []
    for _ in range(2):  # consent and instructions
        press(phone)
    for _ in range(4):  # three questions and the check in their midst
        wait_for(phone, ".jspsych-btn")
        assert phone.execute_script(FAULTS) == []
        for field in phone.find_elements("id", "input-0"):
            field.send_keys("42")
        press(phone, label="Green")
    (link,) = wait_for(phone, "a.jspsych-btn")
    assert link.get_attribute("href").endswith("complete?cc=C0DE")
    assert "C0DE" in " ".join(words(phone, ".words p"))
    ((address, posted),) = phone.execute_script("return asked")
    assert address == "https://example.org/answers" and not phone.find_elements("id", "save")
    sent = tmp_path / "sent.csv"
    sent.write_text(posted["body"], encoding="utf-8")
    found = read_answers(sent, cb.paradigm(name))
    given = [each.answer for each in found.cells[0].given]
    assert len(given) == 3 and {each.status for each in given} == {"ok"}
    assert [each for each in phone.get_log("browser") if each["level"] != "INFO"] == []


def test_who_does_not_agree_is_asked_nothing(phone, tmp_path):
    said("export", "jspsych", "classic/framing", "--out", tmp_path)
    phone.get((tmp_path / "index.html").resolve().as_uri())
    press(phone, 1)
    assert words(phone, ".words p") == ["You do not take part. You may close this page."]
    assert phone.execute_script("return [kept.length, asked.length]") == [0, 0]


@pytest.mark.parametrize("second", ["To answer", "To find errors"])
def test_questions_of_comprehension_give_two_tries(second, phone, tmp_path):
    said("export", "jspsych", "classic/framing", "--out", tmp_path)
    texts = tmp_path / "texts.js"
    own = texts.read_text(encoding="utf-8").replace('// {"question"', '{"question"')
    own = own.replace('"code_if_not_understood": ""', '"code_if_not_understood": "RETURN"')
    texts.write_text(own, encoding="utf-8")
    phone.get((tmp_path / "index.html").resolve().as_uri())
    press(phone)
    for answer in ("To find errors", second):
        press(phone)  # instructions
        press(phone, label=answer)
    ended = phone.find_elements("css selector", "a.jspsych-btn")
    assert [each.get_attribute("href")[-6:] for each in ended] == ["RETURN"] * (
        second != "To answer"
    )
    assert bool(ended) == any("study ends here" in each for each in words(phone, ".words p"))


HOSTILE = """title = "A comparison"
bias = "comparison"
summary = "One thing is said in two ways."
norm = "The same answer in both conditions."
positive = "more of it under treatment"
conditions = {control = "First", treatment = "Second"}
options = ["<img src=x onerror=asked.push(1)>", "</script><b>No</b>"]
target = "</script><b>No</b>"
question = {control = "One <img src=y onerror=asked.push(2)>?", treatment = "Two </script>?"}
wordings = [{wording = "published"}]
"""


def test_a_text_is_shown_and_never_run(phone, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text(HOSTILE, encoding="utf-8")
    said("export", "jspsych", own, "--out", tmp_path / "e")
    phone.get((tmp_path / "e" / "index.html").resolve().as_uri())
    for _ in range(2):
        press(phone)
    shown = words(phone, ".words p, .jspsych-btn")
    assert any(each.startswith(("One", "Two")) for each in shown) and "</script><b>No</b>" in shown
    found = phone.find_elements("css selector", "#jspsych-content :is(img, b, script)")
    assert found == [] and phone.execute_script("return asked") == []
    for _ in range(2):
        press(phone, 1)
    wait_for(phone, "#save")[0].click()
    (csv,) = phone.execute_async_script(READ)
    (tmp_path / "mine.csv").write_text(csv, encoding="utf-8")
    printed = said(
        "import", "answers", tmp_path / "mine.csv", "--paradigm", own, "--out", tmp_path / "o"
    )
    assert "1 answer written" in printed and "guessed" not in printed


def test_a_folder_without_tables_is_named(tmp_path):
    with pytest.raises(CogbiasError, match="save it as CSV"):
        read_answers(tmp_path, cb.paradigm("classic/framing"))
