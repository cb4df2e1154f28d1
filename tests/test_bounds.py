"Bounds of unreadable answers hold whatever was unreadable, and reach to the headline."

import numpy as np
import pytest
from made_up_trials import around, told
from tiers import every_few

from cogbias.design import Contrast, paradigm
from cogbias.effects import estimate_effects
from cogbias.effects.numbers import ESTIMATORS as OF_NUMBERS
from cogbias.tables import item_table, option

RANGES = {"declared": [5, 60], "open": [None, None]}
DRAWS = range(6)


def questions(ends, turned=False, clusters=8):
    "Number questions, two wordings in each condition; without ends, numbers to choose from."
    offered = [option(str(n), "", f"n{n}", float(n)) for n in (5, 20, 30, 60)]
    anchors = {"control": 10.0, "treatment": 50.0}
    if turned:
        anchors = {"control": 50.0, "treatment": 10.0}
    return item_table(
        "made/up",
        [
            {
                "condition": condition,
                "pair_id": f"{cluster} {wording}",
                "cluster": f"c{cluster}",
                "stratum": f"s{cluster % 2}",
                "prompt": f"{cluster} {condition} {wording}",
                "answer": "number",
                "options": offered if ends is None else [],
                "content": {"cluster": cluster, "range": ends or [None, None]},
                "anchor": anchors[condition],
                "truth": 25.0,
            }
            for cluster in range(clusters)
            for condition in anchors
            for wording in ("long", "short")
        ],
    )


def lost_at_random(rng, trials):
    "Answers that cannot be read; sometimes a whole cell, sometimes a whole cluster."
    lost = rng.random(len(trials)) < rng.uniform(0.05, 0.5)
    cluster, condition = trials["cluster"], trials["condition"]
    lost |= (cluster == "c0") & (rng.random() < 0.5)
    lost |= (cluster == "c1") & (condition == "treatment") & (rng.random() < 0.7)
    lost |= (cluster == "c2") & (condition == "control") & (rng.random() < 0.7)
    return lost.to_numpy(bool)


def ends_of(trials, items, here):
    "Headline, lower and upper bound."
    found = estimate_effects(trials, items, here)
    found = found[found["group"] == "all"].drop_duplicates("measure").set_index("measure")
    name = here.headline.measure
    return found.loc[[name, f"{name}_lower", f"{name}_upper"]]


def refused(trials, lost):
    "The trials, without the answers that cannot be read."
    return trials.assign(
        status=np.where(lost, "refusal", "ok"),
        value=trials["value"].where(~lost),
        choice=trials["choice"].where(~lost, None),
    )


def contains(rows):
    "Whether the bounds have the estimate between them, and their intervals the bounds."
    estimate, lower, upper = rows["estimate"]
    inside = lower - 1e-9 <= estimate <= upper + 1e-9
    known = rows.dropna(subset=["ci_low", "ci_high"])
    near = (known["ci_low"] - 1e-9 <= known["estimate"]) & (
        known["estimate"] <= known["ci_high"] + 1e-9
    )
    return bool(inside and near.all())


def test_a_refusal_is_not_the_answer_under_the_other_condition():
    "One answer a prompt, 20 more in the treatment, three refusals: it was 12.5 to 12.5 around 20."
    items = questions([0, 120])
    items = items[items["pair_id"].str.endswith("long")].reset_index(drop=True)
    treated = (items["condition"] == "treatment").to_numpy()
    number = items["cluster"].str[1:].astype(float).to_numpy()
    trials = told(items, value=40 + number + 20 * treated, choice=None)
    moved = Contrast("shift", "Shift", {}, kind="mean_difference", outcome="value", unit="years")
    rows = ends_of(refused(trials, treated & (number < 3)), items, around(items, moved))
    assert rows["estimate"].tolist() == pytest.approx([20, (100 - 123) / 8, (100 + 237) / 8])
    assert rows["n_clusters"].tolist() == [5, 8, 8]


@pytest.mark.parametrize(
    "kind", every_few(3, [*(each for each, of in OF_NUMBERS.items() if of.bounded), "difference"])
)
@pytest.mark.parametrize("ends", [*RANGES.values(), None], ids=[*RANGES, "options"])
def test_bounds_of_numbers_contain_the_estimate_and_what_the_answers_may_have_been(kind, ends):
    "With a range, no completion of the answers leads beyond the bounds; they never cross."
    for draw in DRAWS:
        rng = np.random.default_rng(draw)
        turned, direction, repeats = draw % 2 == 1, (1.0, -1.0)[draw // 2 % 2], 1 + draw % 3
        items = questions(ends, turned)
        numbers = rng.choice([5.0, 20.0, 30.0, 60.0], len(items) * repeats)
        choice = [f"{each:g}" for each in numbers] if ends is None else None
        trials = told(items, repeats, value=numbers, choice=choice)
        contrast = Contrast("shift", "Shift", {}, kind=kind, outcome="value", direction=direction)
        here, lost = around(items, contrast), lost_at_random(rng, trials)
        rows = ends_of(refused(trials, lost), items, here)
        if ends == [None, None]:
            assert rows["estimate"].iloc[1:].isna().all()
            continue
        assert contains(rows), rows[["estimate", "ci_low", "ci_high", "detail"]]
        everything = estimate_effects(refused(trials, lost & False), items, here)
        whole = everything.iloc[0]["estimate"]
        assert rows["estimate"].iloc[1] - 1e-9 <= whole <= rows["estimate"].iloc[2] + 1e-9


@pytest.mark.parametrize("kind", ["difference", "pooled"])
def test_bounds_of_shares_contain_the_estimate(kind):
    items = questions(None)
    shown = [[option("A", "", "target"), option("B", "", "other")] for _ in range(len(items))]
    rows_of = items.assign(options=shown, answer="choice").drop(columns="item_id")
    items = item_table("made/up", rows_of.to_dict("records"))
    score = {"target": 1.0, "other": 0.0}
    here = around(items, Contrast("shift", "Shift", score, kind=kind))
    for draw in DRAWS:
        rng = np.random.default_rng(draw)
        trials = told(items, 2, choice=rng.choice(["A", "B"], 2 * len(items)), value=np.nan)
        rows = ends_of(refused(trials, lost_at_random(rng, trials)), items, here)
        assert contains(rows), rows[["estimate", "ci_low", "ci_high", "detail"]]


@pytest.mark.parametrize("name", ["managerial/anchoring", "managerial/framing"])
def test_bounds_of_ratings_contain_the_estimate(name):
    "Pairs of which one half is lost are left out of the headline, and are within the bounds."
    here = paradigm(name)
    items = here.items()
    items = items[items["cluster"].isin(items["cluster"].unique()[:12])].reset_index(drop=True)
    for draw in range(3):
        rng = np.random.default_rng(draw)
        picked = [shown[rng.integers(len(shown))] for shown in items["options"]]
        values = [each["value"] for each in picked]
        trials = told(items, choice=[each["label"] for each in picked], value=values)
        lost = rng.random(len(trials)) < (0.1, 0.4, 0.8)[draw]
        treatment_only = items["condition"].eq("treatment").to_numpy() if draw else True
        rows = ends_of(refused(trials, lost & treatment_only), items, here)
        assert contains(rows), rows[["estimate", "ci_low", "ci_high", "detail"]]
