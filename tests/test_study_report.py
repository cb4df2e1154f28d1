"The report on a whole study, also when little can be said."

import html
import re

import nbformat
import pytest

from cogbias.running.rendering import write_report
from cogbias.running.studies import run_study
from cogbias.study import make_study


def report_of(place, **asked):
    "What a reader sees of a small study, without markup; table cells are separated by bars."
    assert run_study(make_study("study", **asked), place, reports=False).failed == []
    assert write_report("study.ipynb", place / "study.ipynb", {"outputs": str(place)}) == ""
    cells = nbformat.read(place / "study.running.ipynb", 4).cells
    outputs = [output for cell in cells if cell.cell_type == "code" for output in cell.outputs]
    kinds = ("text/markdown", "text/html")
    shown = [
        each.get("text", "") + "".join(each.get("data", {}).get(kind, "") for kind in kinds)
        for each in outputs
    ]
    text = re.sub(r"</t[dh]>", " | ", "\n".join(shown)).replace("\u00a0", " ")
    return html.unescape(re.sub(r"<[^>]+>", "", re.sub(r"</tr>", "\n", text)))


@pytest.fixture(scope="module")
def biases(tmp_path_factory):
    "Three simulated participants in three paradigms."
    return report_of(
        tmp_path_factory.mktemp("study"),
        models=["sim/human", "sim/rational", "sim/mirror"],
        paradigms=["classic/anchoring", "classic/loss_aversion", "classic/sunk_cost"],
    )


def test_it_says_who_is_not_real_and_what_was_found(biases):
    assert "Simulated, with built-in effects" in biases
    assert "3 participants in 3 paradigms" in biases
    for verdict in ("present", "reversed", "absent"):
        assert verdict in biases


def test_each_participant_has_a_profile_beside_people(biases):
    profiles = biases.partition("Compared with people")[2].partition("Models and biases")[0]
    assert profiles.count("sim/") == 3


def test_what_was_not_asked_is_no_chapter(biases):
    assert "Bets: what is it worth?" not in biases


@pytest.fixture(scope="module")
def bets(tmp_path_factory):
    "Two simulated participants, values and bets on a coin, in the published order."
    return report_of(
        tmp_path_factory.mktemp("bets"),
        models=["sim/rational", "sim/type_only"],
        paradigms=["bets/value", "bets/coin"],
        settings={"bets/*": {"orders": "published", "item_sets": ["published"]}},
    )


def test_both_bars_stand_above_the_accuracies(bets):
    table = bets[bets.index("participant | how asked | coin") :].splitlines()
    assert re.search(r"constant policy \| does not read the question \| 50%", table[1])
    assert re.search(r"which bets to take \| does not read the question \| 75%", table[2])
    rows = {line.split(" | ")[0]: line for line in table[3:5]}
    assert "75% [66 to 82]" in rows["sim/type_only (simulated)"]
    # no error in questions about ten things is worth seven independent answers or so
    assert "100% [64 to 100]" in rows["sim/rational (simulated)"]
    assert "exploratory" in bets
