"Comparisons of a folder: pairs, ties, ranks, wording; the command and its mistakes."

import json

import pandas as pd
import pytest
from tiers import slow_but

import cogbias as cb
from cogbias.backends.sim import exact_trials
from cogbias.cli import main
from cogbias.compare import compare
from cogbias.design import paradigm
from cogbias.folder import Folder
from cogbias.folder import trials as trials_of
from cogbias.running.studies import effects_of, run_study
from cogbias.study import make_study


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    "Three simulated participants in two experiments."
    place = tmp_path_factory.mktemp("compared")
    asked = make_study(
        "test",
        models=["sim/human", "sim/rational", "sim/position"],
        paradigms=["classic/framing", "classic/anchoring"],
    )
    run_study(asked, place, reports=False)
    return place


def said(capsys, *arguments):
    "What a command prints."
    capsys.readouterr()
    try:
        main([str(each) for each in arguments])
    except SystemExit as stop:
        assert not stop.code, capsys.readouterr().err
    return capsys.readouterr().out


def test_a_difference_is_that_of_the_two_effects(folder):
    effects = effects_of(folder, save=False).groupby(["paradigm", "participant"]).head(1)
    heads = effects.set_index(["paradigm", "participant"])["estimate"]
    found = compare(folder, "sim/human", "sim/rational").differences
    assert len(found) == 2 and found["p_adjusted"].notna().any()
    for row in found.to_dict("records"):
        first, second = heads[row["paradigm"], row["first"]], heads[row["paradigm"], row["second"]]
        assert row["estimate"] == pytest.approx(first - second, abs=1e-9)
        assert row["ci_low"] <= row["estimate"] <= row["ci_high"]


def test_arms_are_participants_under_other_names(folder, capsys):
    arms = ("--arms", "base=sim/rational", "--arms", "tuned=sim/human")
    printed = said(capsys, "compare", folder, *arms)
    assert "base minus tuned" in printed and "sim/" not in printed.partition("Ranks")[0]
    table = json.loads(said(capsys, "compare", folder, *arms, "--json"))["differences"]
    assert {each["first"] for each in table} == {"sim/rational"}
    assert {each["first_shown_name"] for each in table} == {"base"}


def test_one_participant_twice_is_tied_and_not_tested(folder):
    with Folder(folder) as opened:
        trials = trials_of(opened)
    mine = trials[trials["participant"] == "sim/human"]
    found = compare(pd.concat([mine, mine.assign(participant="a twin")])).differences
    assert set(found["larger"]) == {"tied"} and found["p_value"].isna().all()
    assert (found["estimate"] == 0).all()
    assert found["detail"].str.contains("identical answers").all()


def test_the_command_prints_writes_and_speaks_json(folder, capsys, tmp_path):
    printed = said(capsys, "compare", folder)
    for words in (
        "sim/human (simulated) shows more",
        "Ranks",
        "Published minus new wording",
        "Corrected together",
        "(Holm)",
    ):
        assert words in printed
    tables = json.loads(said(capsys, "compare", folder, "sim/human", "sim/position", "--json"))
    assert set(tables) == {"differences", "ranks", "familiar", "arms"}
    assert {row["first"] for row in tables["differences"]} <= {"sim/human", "sim/position"}
    said(capsys, "compare", folder, "--out", tmp_path / "differences.csv")
    assert len(pd.read_csv(tmp_path / "differences.csv")) == 6


FRAMING = paradigm("classic/framing").items(variants=["base"])


def choosing(name, role, items=FRAMING):
    "Answers of somebody who takes an option of one role in each item."
    chosen = [{each["role"]: each["label"] for each in row.options} for row in items.itertuples()]
    labels = [each[role(row)] for each, row in zip(chosen, items.itertuples())]
    p = [
        {each["label"]: float(each["label"] == label) for each in options}
        for options, label in zip(items["options"], labels)
    ]
    return exact_trials("human", items).assign(participant=name, p=p)


OF_TWO_ORDERS = ("framing", "loss_aversion", "sunk_cost", "transaction_utility")


@pytest.mark.parametrize("name", slow_but(["framing"], OF_TWO_ORDERS))
def test_who_goes_by_the_order_of_options_treats_old_and_new_wording_alike(name):
    "The published wording has one order of the options, and so do the new ones it is set against."
    items = paradigm(f"classic/{name}").items(variants=["base"])
    roles = sorted({each["role"] for each in items["options"].iloc[0]} - {"target"})

    def by_order(row):
        biased = row.condition == "treatment" and row.option_order == 2
        return "target" if biased else roles[0]

    trials = choosing("by order", by_order, items)
    found = compare(pd.concat([trials, trials.assign(participant="a twin")])).familiar
    row = found.set_index("participant").loc["by order"]
    assert (row["published"], row["new"], row["estimate"]) == (0, 0, 0)
    assert (row["n_published"], row["n_new"]) == (1, 39)
    assert cb.effects(trials, items)["estimate"].iloc[0] == pytest.approx(0.5)  # of both orders
