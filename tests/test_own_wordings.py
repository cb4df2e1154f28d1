"""Other wordings, persons and settings for a paradigm that ships: from a file to an effect."""

import json
import re
import sys
from inspect import signature
from pathlib import Path

import pandas as pd
import pytest
from own_files import said
from tiers import KINDS, slow_but

from cogbias.backends.sim import exact_trials
from cogbias.design import declare, paradigm, paradigms
from cogbias.effects import estimate_effects
from cogbias.kits.file import paradigm_from_file, paradigm_of_files
from cogbias.kits.skeletons import write_reworded, write_skeleton
from cogbias.study import make_study, study_items
from cogbias.tables import CogbiasError

pytestmark = pytest.mark.usefixtures("forgotten")

# --- classic experiments


def rewritten(name, count=3):
    "A declaration that asks a classic in some of its own wordings, and the table of these."
    question = paradigm(name).question
    rows = []
    for content in question.contents[:count]:
        row: dict[str, object] = {"wording": content.name, **content.words}
        for gap, variable in content.variables.items():
            row[gap] = variable.value
            row |= {f"{gap}.{variant}": value for variant, value in variable.declared.items()}
        rows.append(row | dict(content.facts))
    table = pd.DataFrame(rows).to_csv(index=False)
    return f'based_on = "{name}"\nwordings = "w.csv"\n', table


@pytest.mark.parametrize("name", paradigms("classic/*"))
def test_every_classic_takes_other_wordings(name):
    text, table = rewritten(name)
    made = paradigm_of_files({"other.toml": text, "w.csv": table})
    base = paradigm(name)
    shipped = base.items()
    wanted = shipped[shipped["content_set"].isin(set(made.items()["cluster"]))]
    asked = made.items()
    for column in ("condition", "cluster", "variant", "system", "prompt", "pair_id", "truth"):
        assert asked[column].tolist() == wanted[column].tolist(), column
    assert asked["content"].tolist() == wanted["content"].tolist()
    assert [each.measure for each in made.contrasts][0] == base.headline.measure
    more = {"settings": set(signature(base.items).parameters) - {"seed"}}
    assert more["settings"] <= set(signature(made.items).parameters)


def test_another_kit_is_asked_with_a_persona_and_without():
    text = 'based_on = "choice/decoy"\npersona = "You are a nurse."\n'
    few = {"products": ["phone"]}
    text += f"settings.products = {json.dumps(few['products'])}\n"
    both = declare(paradigm_of_files({"n.toml": 'variants = ["base", "no_persona"]\n' + text}))
    one = paradigm_of_files({"n.toml": text})
    items, shipped = both.items(), paradigm("choice/decoy").items(**few)
    of = {name: rows for name, rows in items.groupby("variant")}
    assert of["base"]["item_id"].tolist() == one.items()["item_id"].tolist()
    assert of["no_persona"]["prompt"].tolist() == shipped["prompt"].tolist()
    assert of["no_persona"]["system"].isna().all()
    assert not set(of["base"]["pair_id"]) & set(of["no_persona"]["pair_id"])
    found = estimate_effects(exact_trials("human", items), items, both)
    usual = estimate_effects(exact_trials("human", shipped), shipped, paradigm("choice/decoy"))
    mine = found[found["measure"] == both.headline.measure].groupby("group")["estimate"].first()
    assert mine["all"] == pytest.approx(usual["estimate"].iloc[0])
    assert mine["variant=no_persona"] == pytest.approx(usual["estimate"].iloc[0])


def test_what_a_model_wrote_for_a_file_is_asked(tmp_path):
    based = tmp_path / "tired.toml"
    based.write_text('based_on = "managerial/escalation"\npersona = "You are tired."\n')
    program = tmp_path / "writer.py"
    program.write_text(
        "import json, sys\n"
        "for number, line in enumerate(sys.stdin):\n"
        "    asked = json.loads(line)\n"
        "    plans = ['a bakery in the lobby', 'a bus for the night shift']\n"
        "    news = ['Few people buy anything there.', 'Most of its seats stay empty.']\n"
        "    texts = {'plan': plans[number % 2], 'news': news[number % 2]}\n"
        "    print(json.dumps({'id': asked['id'], 'answer': json.dumps(texts)}), flush=True)\n"
    )
    out = tmp_path / "stories.jsonl"
    model = ("--model", f"command/{sys.executable} {program}", "--allow-command")
    told = said("generate", str(based), *model, "--out", str(out), "--settings", "2")
    assert "2 of 2 stories are complete" in told
    fields = {"models": ["sim/human"], "paradigms": [str(based)]}
    study = make_study(**fields, settings={"own/tired": {"fillings": str(out)}})
    items = study_items(study, "own/tired")
    assert items["prompt"].str.contains("a bakery in the lobby").any()
    assert items["system"].eq("You are tired.").all()


# --- choices, arguments and bets

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


@pytest.mark.parametrize("name", slow_but(EVERY_DAY, OF_PARTS))
def test_the_shipped_texts_in_a_file_give_the_shipped_prompts(name):
    base = paradigm(name)
    rows = [{"wording": wording, **texts} for wording, texts in base.wordings.given.items()]
    texts = {"own.toml": f'based_on = "{name}"\nwordings = "w.csv"\n'}
    made = paradigm_of_files({**texts, "w.csv": pd.DataFrame(rows).to_csv(index=False)})
    asked, shipped = made.items(), base.items()
    assert asked["prompt"].tolist() == shipped["prompt"].tolist()
    assert asked["options"].tolist() == shipped["options"].tolist()
    assert asked["content"].tolist() == shipped["content"].tolist()


@pytest.mark.parametrize(
    ("name", "wording", "sign"),
    [
        ("choice/decoy", SHOP, "Offer 1: 40 points from gadget reviewers, at $100."),
        ("choice/certainty", ENVELOPES, "B. $2,400, guaranteed"),
        ("logic/belief", COURT, "Hence: All hammers are tools.\nIs that sound or unsound?"),
        ("bets/coin", TOSS, "Where should my money go, if anywhere?"),
        ("bets/value", PRICES, "A sofa and a comb are for sale.\nA) The sofa costs more"),
    ],
)
def test_a_wording_of_ones_own_is_asked_and_changes_no_simulated_effect(name, wording, sign):
    "Who decides from numbers decides alike in other words."
    made = declare(paradigm_of_files({"mine.toml": f'based_on = "{name}"\n{wording}'}))
    items, base = made.items(), paradigm(name)
    assert items["prompt"].str.contains(sign, regex=False).any()
    who = "type_only" if name.startswith("bets/") else "human"
    given = {"templates": ["CE"]} if name == "bets/value" else {}
    shipped = base.items(**given)
    mine = estimate_effects(exact_trials(who, items), items, made)
    usual = estimate_effects(exact_trials(who, shipped), shipped, base)
    assert mine["estimate"].iloc[0] == pytest.approx(usual["estimate"].iloc[0])


def lines_of(prompt):
    "The lines of a prompt; which premise comes first changes from prompt to prompt."
    return frozenset(re.sub(r"Premise \d: ", "", prompt).splitlines())


@pytest.mark.parametrize("name", slow_but(KINDS, paradigms("*")))
def test_a_draft_of_other_wordings_asks_the_first_shipped_one(name, tmp_path):
    (file,) = write_reworded("mine", name, tmp_path)
    made = paradigm_from_file(file)
    assert made.title.startswith(paradigm(name).title) and made.name == "own/mine"
    asked = made.items()
    if paradigm(name).written is not None:  # which story is told with which numbers is drawn
        assert {"first"} == set(asked.get("filling_set", ["first"]))
    else:
        given = {"templates": ["BE"]} if name == "bets/value" else {}
        shipped = paradigm(name).items(**given)
        few, many = (set(map(lines_of, each["prompt"])) for each in (asked, shipped))
        if shipped.get("template", pd.Series("BE")).nunique() > 1:  # which asks what is dealt out
            assert set(asked["cluster"]) == set(shipped["cluster"]) and few & many
        else:
            assert few <= many


# --- mistakes

# what is said behind based_on, and of what
MISTAKES = json.loads((Path(__file__).parent / "data" / "own_file_mistakes.json").read_text())
OF_WORDINGS = [
    ('"choice/decoy"\n' + SHOP + 'optoin = "{price}"', "optoin: fills no gap, and is neither"),
    ('"bets/coin"\n' + TOSS + TOSS.replace("toss", "again", 1), "reads like the wording 'toss'"),
]


@pytest.mark.parametrize(("told", "what"), MISTAKES["base"] + OF_WORDINGS)
def test_a_mistake_about_a_base_is_named(told, what):
    with pytest.raises(CogbiasError) as found:
        paradigm_of_files({"mine.toml": f"based_on = {told}\n"})
    assert what in str(found.value), found.value


@pytest.mark.slow
@pytest.mark.parametrize("kit", ["classic", "scenario"])
def test_a_draft_runs_as_it_is(kit, tmp_path):
    from nbdev.test import test_nb

    (draft,) = write_skeleton("mine", kit, tmp_path)
    assert test_nb(draft)[0]
