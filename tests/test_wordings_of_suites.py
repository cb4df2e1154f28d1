"""Wordings of one's own for choices, arguments and bets: from a file to an effect."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from test_own_paradigms import said, written
from tiers import KINDS, slow_but

from cogbias.compare import compare
from cogbias.design import paradigm, paradigms
from cogbias.kits.file import STANDS_ALONE, paradigm_from_file, paradigm_of_files
from cogbias.running import effects_of, run_study
from cogbias.skeletons import write_reworded
from cogbias.study import make_study
from cogbias.tables import CogbiasError

pytestmark = pytest.mark.usefixtures("forgotten")

OF_PARTS = [name for name in paradigms("*") if paradigm(name).wordings is not None]
EVERY_DAY = [name for name in OF_PARTS if name in KINDS]
SHOP = """
[[wordings]]
name = "shop"
question = \"\"\"
In a shop you find {number} brands of {noun}:
{options}
Which one goes into your basket?
{instruction}\"\"\"
option = "{quality} points from {raters}, at {price}"
label = "Offer {number}"
"""
ENVELOPES = """
[[wordings]]
name = "envelopes"
question = "Two envelopes lie before you.\\n{options}\\nWhich one do you open?\\n{instruction}"
sure_1 = "{prize}, guaranteed"
line = "{label}. {text}"
"""
COURT = """
[[wordings]]
name = "court"
question = "A judge reads:\\n{argument}\\nIs that {words}?\\n{instruction}"
premise_1 = "First: {sentence}."
premise_2 = "Second: {sentence}."
conclusion = "Hence: {sentence}."
valid = "sound"
invalid = "unsound"
"""
TOSS = """
[[wordings]]
name = "toss"
side_1 = "A coin is tossed. On heads I {event}."
side_2 = "On tails I {event}."
ask = "Where should my money go, if anywhere?"
bet = "My money goes on {side}"
no_bet = "My money stays with me"
"""
PRICES = """
[[wordings]]
name = "prices"
question = "A {first} and a {second} are for sale."
first = "The {first} costs more"
second = "The {second} costs more"
same = "They cost the same"
"""
SOLD = """
[[wordings]]
name = "a pin"
good = "A pin lies here."
price = 9
"""
ESCALATED = """
[[wordings]]
name = "bakery"
plan = "a bakery in the lobby"
news = "Few people buy anything there."
"""
ASKED = {  # base -> its settings, a wording of one's own, and what its prompts then hold
    "choice/decoy": (
        {"products": ["phone"], "target_sides": ["cheaper"]},
        SHOP,
        "Offer 1: 40 points from gadget reviewers, at $100.",
    ),
    "choice/certainty": ({}, ENVELOPES, "B. $2,400, guaranteed"),
    "logic/belief": ({}, COURT, "Hence: All hammers are tools.\nIs that sound or unsound?"),
    "bets/coin": ({}, TOSS, "On tails I lose a pen. Where should my money go"),
    "bets/value": ({}, PRICES, "A car and a pen are for sale.\nA) The car costs more"),
}


@pytest.mark.parametrize("name", slow_but(EVERY_DAY, OF_PARTS))
def test_the_shipped_texts_in_a_file_give_the_shipped_prompts(name: str) -> None:
    base = paradigm(name)
    rows = [{"wording": wording, **texts} for wording, texts in base.wordings.given.items()]
    texts = {"own.toml": f'based_on = "{name}"\nwordings = "w.csv"\n'}
    made = paradigm_of_files({**texts, "w.csv": pd.DataFrame(rows).to_csv(index=False)})
    asked, shipped = made.items(), base.items()
    assert asked["prompt"].tolist() == shipped["prompt"].tolist()
    assert asked["options"].tolist() == shipped["options"].tolist()
    assert asked["content"].tolist() == shipped["content"].tolist()


@pytest.mark.parametrize("name", slow_but(EVERY_DAY, OF_PARTS))
def test_a_wording_may_say_every_part_otherwise(name: str) -> None:
    base = paradigm(name)
    first = next(iter(base.wordings.frames.values()))
    said = {part: f"now {frame.text}" for part, frame in first.items()}
    table = pd.DataFrame([{"wording": "now", **said}]).to_csv(index=False)
    text = f'based_on = "{name}"\nwordings = "w.csv"\n'
    made = paradigm_of_files({"own.toml": text, "w.csv": table})
    asked, shipped = made.items(), base.items()
    assert set(asked["template"]) == {"now"}
    assert not set(asked["prompt"]) & set(shipped["prompt"])
    for part in ("question", "instruction", "instruction_label", "line", "ask"):
        if part in said:
            opening = said[part].partition("{")[0].partition("\n")[0]
            assert asked["prompt"].str.contains(opening, regex=False).all(), part


@pytest.mark.parametrize("name", slow_but(["logic/belief"], ASKED))
def test_a_wording_of_ones_own_goes_from_a_file_to_an_effect(name: str, tmp_path: Path) -> None:
    settings, wording, sign = ASKED[name]
    named = "".join(f"settings.{key} = {value}\n" for key, value in settings.items())
    file = str(written(tmp_path, {"mine.toml": f'based_on = "{name}"\n{named}{wording}'}))
    fields = {"models": ["sim/human", "sim/noisy_rational"], "paradigms": [file, name]}
    if name.startswith("bets/"):
        fields["models"] = ["sim/rational", "sim/type_only"]
    out = tmp_path / "out"
    run_study(make_study(**fields, settings={name: settings}), out, reports=False)
    assert paradigm("own/mine").items()["prompt"].str.contains(sign, regex=False).any()
    found = effects_of(out, save=False)
    heads = found[(found["measure"] == paradigm(name).headline.measure) & (found["group"] == "all")]
    heads = heads.drop_duplicates(["participant", "paradigm"])  # one of its two targets
    of = {who: rows.set_index("paradigm")["estimate"] for who, rows in heads.groupby("participant")}
    for who in fields["models"]:  # who decides from numbers decides alike in other words
        assert of[who]["own/mine"] == pytest.approx(of[who][name]), who
        assert heads["status"].eq("ok").all()
    told = compare(out).differences.set_index("paradigm")["estimate"]
    assert told["own/mine"] == pytest.approx(told[name])


@pytest.mark.slow  # test_own_paradigms goes this way every day with a file of its own
@pytest.mark.parametrize(
    ("name", "wording"),
    [("classic/endowment", SOLD), ("managerial/escalation", ESCALATED)],
)
def test_the_other_suites_go_the_same_way(name: str, wording: str, tmp_path: Path) -> None:
    text = f'based_on = "{name}"\nkeep_wordings = true\n{wording}'
    file = str(written(tmp_path, {"mine.toml": text}))
    fields = {"models": ["sim/human", "sim/rational"], "paradigms": [file, name]}
    run_study(make_study(**fields), tmp_path / "out", reports=False)
    differences = compare(tmp_path / "out").differences
    assert set(differences["paradigm"]) == {"own/mine", name}
    assert differences["estimate"].notna().all()


def test_shipped_wordings_are_asked_beside_ones_own_where_that_is_said() -> None:
    text = 'based_on = "bets/coin"\nkeep_wordings = true\n' + TOSS
    made = paradigm_of_files({"mine.toml": text})
    items = made.items()
    assert items.groupby("template").size().to_dict() == {"coin": 1176, "toss": 1176}
    assert set(items["template"][items["is_published"]]) == {"coin"}
    assert "template" in made.breakdown and STANDS_ALONE in made.caveats
    assert "published_accuracy" in [each.measure for each in made.contrasts]
    alone = paradigm_of_files({"mine.toml": 'based_on = "bets/coin"\n' + TOSS})
    assert not alone.items()["is_published"].any()
    assert "published_accuracy" not in [each.measure for each in alone.contrasts]


def test_bets_are_asked_of_somebody_and_of_nobody() -> None:
    text = 'based_on = "bets/coin"\npersona = "You are a nurse."\nvariants = ["base", "no_persona"]'
    items = paradigm_of_files({"nurse.toml": text}).items()
    shipped = paradigm("bets/coin").items()
    assert items["variant"].value_counts().tolist() == [len(shipped)] * 2
    assert items["prompt"].nunique() == shipped["prompt"].nunique()


MISTAKES = [
    ("{options}\\n{instruction}", "line 4, column 1: wordings.1.question: lacks the gap {noun}; "),
    ("A {noun}: {option}", "nothing fills the gap {option}; the gaps of this text: {options}, "),
    ("{noun}{options}{options}{instruction}", "has the gap {options} more than once; leave one"),
    ("{noun} {options} {instruction", "has a brace that belongs to no gap, at '{instruction'"),
]


@pytest.mark.parametrize(("question", "what"), MISTAKES)
def test_a_gap_that_lacks_or_is_unknown_is_named(question: str, what: str) -> None:
    text = f'based_on = "choice/decoy"\n[[wordings]]\nname = "x"\nquestion = "{question}"\n'
    with pytest.raises(CogbiasError) as found:
        paradigm_of_files({"mine.toml": text})
    assert "mine.toml, line 4, column 1: wordings.1.question: " in str(found.value)
    assert what in str(found.value)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            'based_on = "choice/decoy"\n[[wordings]]\nname = "x"\n',
            "line 2, column 1: wordings.1: the wording 'x' has no question; write the question",
        ),
        (
            'based_on = "choice/decoy"\n' + SHOP + 'optoin = "{price}"\n',
            "wordings.1.optoin: there is no such field; did you mean 'option'",
        ),
        (
            'based_on = "bets/coin"\n' + TOSS + TOSS.replace('"toss"', '"again"'),
            "wordings.2.name: the wordings 'toss' and 'again' read alike; change one of them",
        ),
        (
            'based_on = "bets/value"\nkeep_wordings = true\n' + PRICES.replace('"prices"', '"CE"'),
            "wordings.1.name: bets/value has a wording 'CE'; rename yours",
        ),
        (
            'based_on = "logic/belief"\n' + COURT + 'prompt = "Is that so?"\n',
            "wordings.1.prompt: a wording of logic/belief has texts for its parts (question, ",
        ),
        (
            'based_on = "bets/value"\nsettings.templates = ["BE"]\n' + PRICES,
            "settings: bets/value: 'templates' is not an argument of its items()",
        ),
        (
            'based_on = "bets/coin"\nkeep_wordings = true\n',
            "line 2, column 1: keep_wordings: there are no wordings to be kept beside",
        ),
        (
            'based_on = "published/pagliaro_framing"\n' + SHOP,
            "line 1, column 1: based_on: 'published/pagliaro_framing' is asked in its published "
            "wordings, which come with an import and are what they are",
        ),
    ],
)
def test_a_mistake_about_a_wording_is_named(text: str, what: str) -> None:
    with pytest.raises(CogbiasError) as found:
        paradigm_of_files({"mine.toml": text})
    assert what in str(found.value) and "mine.toml, line" in str(found.value)


@pytest.mark.parametrize("name", slow_but(KINDS, paradigms("*")))
def test_a_draft_of_other_wordings_asks_the_first_shipped_one(name: str, tmp_path: Path) -> None:
    (file,) = write_reworded("mine", name, tmp_path)
    made = paradigm_from_file(file)
    assert made.title.startswith(paradigm(name).title) and made.name == "own/mine"
    asked = made.items()
    if paradigm(name).written is not None:  # which story is told with which numbers is drawn
        assert {"first"} == set(asked.get("filling_set", ["first"]))
    else:
        assert set(asked["prompt"]) <= set(paradigm(name).items()["prompt"])


def test_a_draft_is_written_for_what_ships_alone(tmp_path: Path) -> None:
    with pytest.raises(CogbiasError, match="come with an import and are what they are"):
        write_reworded("mine", "published/pagliaro_framing", tmp_path)
    with pytest.raises(CogbiasError, match="did you mean 'bets/coin'"):
        write_reworded("mine", "bets/coinn", tmp_path)
    assert not [*tmp_path.iterdir()]
    told = said("new", "paradigm", "mine", "--based-on", "bets/coin", "--folder", str(tmp_path))
    assert "written" in told and "next      cogbias check" in told
    assert "side_1 = " in (tmp_path / "mine.toml").read_text("utf-8")
