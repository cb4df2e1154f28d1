"Comparisons of a folder: pairs, ties, ranks, wording; the command and its mistakes."

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from tiers import slow_but

from cogbias.backends.sim import exact_trials
from cogbias.cli import main
from cogbias.compare import compare, comparison_notes
from cogbias.design import paradigm
from cogbias.front_door import effects
from cogbias.running import effects_of, run_study
from cogbias.study import make_study
from cogbias.tables import CogbiasError


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


def said(capsys: pytest.CaptureFixture, *arguments: object) -> str:
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


def test_one_participant_twice_is_tied_and_not_tested(folder):
    from cogbias.outputs import trials_of

    trials = trials_of(folder)
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
        "One family",
        "(Holm)",
    ):
        assert words in printed
    tables = json.loads(said(capsys, "compare", folder, "sim/human", "sim/position", "--json"))
    assert set(tables) == {"differences", "ranks", "familiar"}
    assert {row["first"] for row in tables["differences"]} <= {"sim/human", "sim/position"}
    said(capsys, "compare", folder, "--out", tmp_path / "differences.csv")
    assert len(pd.read_csv(tmp_path / "differences.csv")) == 6


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["sim/humann", "sim/rational"], "did you mean 'sim/human'"),
        (["sim/human"], "needs two participants"),
    ],
)
def test_mistakes_are_one_line(folder, capsys, names, words):
    with pytest.raises(SystemExit) as stop:
        main(["compare", str(folder), *names])
    error = capsys.readouterr().err.strip()
    assert stop.value.code == 2 and words in error and "\n" not in error


def test_a_folder_without_answers_says_how_to_fill_it(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["compare", str(tmp_path)])
    assert "no trials here" in capsys.readouterr().err


def test_nobody_is_named_where_the_interval_reaches_across_zero(folder):
    found = compare(folder).differences
    named = found[~found["larger"].isin(["tied", "not told apart"])]
    assert len(named) and ((named["ci_low"] > 0) | (named["ci_high"] < 0)).all()
    assert (named["p_adjusted"] < 0.05).all()


@pytest.mark.parametrize("name", ["participant", "n_clusters"])
def test_an_effects_table_with_an_empty_cell_is_refused_by_its_column(name: str) -> None:
    items = paradigm("choice/certainty").items()
    trials = pd.concat([exact_trials(who, items) for who in ("human", "rational")])
    found = effects(trials, items).astype({name: object})
    found.loc[0, name] = None
    with pytest.raises(CogbiasError, match=f"column '{name}' is empty in row 0"):
        compare(found)


def test_a_file_of_trials_is_checked_once(tmp_path, monkeypatch) -> None:
    "A long table takes its time to be checked."
    from cogbias import compare, tables
    from cogbias.backends.sim import exact_trials
    from cogbias.design import paradigm
    from cogbias.tables import TRIALS, save_table

    items = paradigm("classic/framing").items()
    both = [exact_trials(model, items).assign(participant=model) for model in ("human", "rational")]
    place = save_table(pd.concat(both, ignore_index=True), tmp_path / "trials.parquet")
    checked = []
    check = tables.Schema.check_cells
    monkeypatch.setattr(
        tables.Schema, "check_cells", lambda of, *more: checked.append(of.name) or check(of, *more)
    )
    compare.compare(place)
    assert checked.count(TRIALS.name) == 1


def published_bets() -> pd.DataFrame:
    "The published bets with coins of the test split."
    return paradigm("bets/coin").items(item_sets=("published",), splits=("test",))


def test_two_who_choose_the_same_with_other_probabilities_are_tied_and_not_tested():
    models = ("rational", "graded", "type_only")  # the first two always choose what is right
    found = compare(pd.concat([exact_trials(who, published_bets()) for who in models])).differences
    by_pair = found.set_index(["first", "second"])
    tie = by_pair.loc["sim/graded", "sim/rational"]
    assert tie["larger"] == "tied" and pd.isna(tie["p_value"]) and pd.isna(tie["ci_low"])
    assert tie["detail"].startswith("the same answers to all 300 prompts, with other probab")
    assert (found["larger"] == "tied").sum() == 1 and found["p_value"].notna().sum() == 2
    assert set(found["family"]) == {"2 tested differences of 3 participants in 1 paradigm (Holm)"}


def test_the_same_scores_by_other_answers_are_no_tie():
    right = exact_trials("rational", published_bets())

    def always_wrong(which: int) -> pd.DataFrame:
        "Somebody who chooses the first or the last of the wrong options."
        chosen = [[label for label, p in each.items() if not p][which] for each in right["p"]]
        p = [
            {label: float(label == mine) for label in each}
            for mine, each in zip(chosen, right["p"])
        ]
        return right.assign(participant=f"wrong {which}", p=p)

    (row,) = compare(pd.concat([always_wrong(0), always_wrong(-1)])).differences.to_dict("records")
    assert row["estimate"] == 0 and row["p_value"] == 1 and row["larger"] == "not told apart"


def test_clusters_behind_a_rank_are_those_that_its_number_rests_on() -> None:
    "Of two rating pairs of a setting, one answer each can be read: together they are no pair."
    items = paradigm("managerial/anchoring").items()
    human = exact_trials("human", items).assign(participant="human")
    first_of_setting = items.groupby("cluster")["pair_id"].transform("first") == items["pair_id"]
    spoilt = items["cluster"].isin(items["cluster"].unique()[:5])
    lost = spoilt & (first_of_setting == (items["condition"] == "treatment"))
    torn = human[~human["item_id"].isin(items.loc[lost, "item_id"])].assign(participant="torn")
    ranks = compare(pd.concat([human, torn])).ranks.set_index("participant")
    assert set(ranks["n_clusters"]) == {45}
    assert ranks.loc["human", "estimate"] == pytest.approx(ranks.loc["torn", "estimate"])
    assert ranks.loc["torn", "detail"] == "45 of 50 clusters"


def test_prompts_behind_a_rank_are_counted_where_not_all_rest_on_the_same() -> None:
    items = paradigm("managerial/anchoring").items()
    human = exact_trials("human", items).assign(participant="human")
    second_pairs = items["pair_id"].duplicated() & ~items["cluster"].duplicated(keep="last")
    lost = items.loc[items["pair_id"].isin(items.loc[second_pairs, "pair_id"]), "item_id"][:20]
    hasty = human[~human["item_id"].isin(lost)].assign(participant="hasty")
    ranks = compare(pd.concat([human, hasty])).ranks.set_index("participant")
    both = "all 50 clusters, 180 of 200 prompts, which all answered readably"
    assert ranks.loc["human", "detail"].startswith(f"{both}; +0.")
    assert ranks.loc["human", "detail"].endswith(" over all of its own")
    assert ranks.loc["hasty", "detail"] == both


FRAMING = paradigm("classic/framing").items(variants=["base"])


def choosing(name: str, role: Callable[[Any], str], items: pd.DataFrame = FRAMING) -> pd.DataFrame:
    "Answers of somebody who takes an option of one role in each item."
    chosen = [{each["role"]: each["label"] for each in row.options} for row in items.itertuples()]
    labels = [each[role(row)] for each, row in zip(chosen, items.itertuples())]
    p = [
        {each["label"]: float(each["label"] == label) for each in options}
        for options, label in zip(items["options"], labels)
    ]
    return exact_trials("human", items).assign(participant=name, p=p)


def role_of_bias(row: Any) -> str:
    "What the bias takes."
    return "target" if row.condition == "treatment" else "buy"


def biased_in_order_2(row: Any) -> str:
    "The bias in one order of the options only."
    return role_of_bias(row) if row.option_order == 2 else "buy"


def test_a_rank_lies_within_its_interval_where_somebody_answers_one_order_only() -> None:
    "`late` shows the bias where `early` could not be read, and none where it could."

    def biased_in_some(row: Any) -> str:
        return role_of_bias(row) if row.cluster < "framing-d" else "buy"

    first = FRAMING[FRAMING["option_order"] == 1]
    late = choosing("late", biased_in_order_2)
    early = choosing("early", biased_in_some, first)
    found = compare(pd.concat([late, early]), "early", "late")
    (row,) = found.differences.to_dict("records")
    ranks = found.ranks.set_index("participant")
    of_early = effects(early, FRAMING)["estimate"].iloc[0]
    assert (ranks.loc["early", "estimate"], ranks.loc["late", "estimate"]) == (of_early, 0)
    assert row["estimate"] == pytest.approx(of_early)
    # treated, `late` takes what stands at one place: that is no bias that it lacks
    assert (row["status"], row["larger"]) == ("position_dominated", "not told apart")
    assert (ranks.loc["early", "rank"], ranks.loc["late", "rank"]) == (1, 2)
    assert ranks["rank"].between(ranks["rank_low"], ranks["rank_high"]).all()
    said = "all 24 clusters, 48 of 96 prompts, which all answered readably"
    assert ranks.loc["early", "detail"] == said
    assert ranks.loc["late", "detail"] == f"{said}; +0.500 over all of its own"


def test_who_shares_too_few_prompts_is_ranked_on_its_own_unless_the_differences_contradict() -> (
    None
):
    "Both answer both orders of eight stories; of the others each answers an order of its own."
    few = sorted(set(FRAMING["cluster"]))[:8]
    shared = FRAMING["cluster"].isin(few)

    def biased_in_seven(row: Any) -> str:
        return role_of_bias(row) if row.cluster in few[:7] else "buy"

    def biased_in_the_others(row: Any) -> str:
        return "buy" if row.cluster in few else role_of_bias(row)

    def ranks_of(late_shows: Callable[[Any], str]) -> pd.DataFrame:
        late = choosing("late", late_shows, FRAMING[shared | (FRAMING["option_order"] == 2)])
        early = choosing("early", biased_in_seven, FRAMING[shared | (FRAMING["option_order"] == 1)])
        found = compare(pd.concat([late, early]))
        assert found.differences["larger"].tolist() == ["early"]
        assert found.differences["n_clusters"].tolist() == [8]
        return found.ranks.set_index("participant")

    agreed = ranks_of(lambda row: "buy")
    assert agreed.loc[["early", "late"], "rank"].tolist() == [1, 2]
    assert set(agreed["detail"]) == {"all 24 clusters, 64 of 96 prompts of its own"}
    contradicted = ranks_of(biased_in_the_others)
    assert contradicted.loc["late", "estimate"] > contradicted.loc["early", "estimate"]
    assert contradicted[["rank", "rank_low", "rank_high"]].isna().all(axis=None)
    assert contradicted["detail"].str.endswith("rest on other prompts, and say otherwise").all()


OF_TWO_ORDERS = ("framing", "loss_aversion", "sunk_cost", "transaction_utility")


@pytest.mark.parametrize("name", slow_but(["framing"], OF_TWO_ORDERS))
def test_who_goes_by_the_order_of_options_treats_old_and_new_wording_alike(name: str) -> None:
    "The published wording has one order of the options, and so do the new ones it is set against."
    items = paradigm(f"classic/{name}").items(variants=["base"])
    roles = sorted({each["role"] for each in items["options"].iloc[0]} - {"target"})

    def by_order(row: Any) -> str:
        biased = row.condition == "treatment" and row.option_order == 2
        return "target" if biased else roles[0]

    trials = choosing("by order", by_order, items)
    found = compare(pd.concat([trials, trials.assign(participant="a twin")])).familiar
    row = found.set_index("participant").loc["by order"]
    assert (row["published"], row["new"], row["estimate"]) == (0, 0, 0)
    assert (row["n_published"], row["n_new"]) == (1, 23)
    assert row["detail"].endswith("new ones in the published order of options")
    assert effects(trials, items)["estimate"].iloc[0] == pytest.approx(0.5)  # of both orders


def test_clusters_of_wordings_are_counted_in_whole_numbers(folder, capsys) -> None:
    lines = said(capsys, "compare", folder).splitlines()
    (title,) = [each for each in lines if "n_published" in each]
    row = lines[lines.index(title) + 1]
    assert row.split("(simulated)")[1].split()[3:5] == ["1", "23"]


def test_the_closing_text_says_which_order_new_wordings_have(folder) -> None:
    assert "count in the order of options of the published one" in comparison_notes(compare(folder))


def test_a_difference_of_who_answered_no_common_prompt_says_so_where_it_is_shown() -> None:
    "Each was asked one order of the options, and one of the two goes by it."
    orders = [FRAMING[FRAMING["option_order"] == order] for order in (1, 2)]
    trials = [choosing(f"order {n}", biased_in_order_2, each) for n, each in enumerate(orders, 1)]
    apart = trials[1]["item_id"].isin(orders[1].loc[orders[1]["cluster"] > "framing-c", "item_id"])
    found = compare(pd.concat([trials[0], trials[1][apart]]))
    assert found.differences["n_prompts"].tolist() == [0]
    assert "no prompt was answered by both, so paired by cluster" in repr(found)
