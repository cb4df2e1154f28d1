"Accuracies: their ground truths through the registry, their words, their place in a report."

from functools import cache

import numpy as np
import pandas as pd
import pytest

from cogbias.backends.sim import exact_trials
from cogbias.design import paradigm
from cogbias.effects import estimate_effects
from cogbias.reporting.study import common_effects
from tiers import every_few, slow_but

BETS = ("bets/coin", "bets/dice", "bets/card")


@cache
def items_of(name, **settings):
    "The published items of a paradigm; read them, do not change them."
    return paradigm(name).items(**{"item_sets": ("published",)} | settings)


def told(items, say):
    "Trials of somebody who gives every role of a question a probability: say(item)."
    p = []
    for item in items.to_dict("records"):
        chances = say(item)
        p.append({each["label"]: chances.get(each["role"], 0.0) for each in item["options"]})
    return exact_trials("rational", items).assign(p=p)


def encoded(items, score):
    "Trials of an encoder whose raw scores have this logistic function: score(item), by role."
    trials = told(items, score)
    raw = [{label: float(np.log(s / (1 - s))) for label, s in p.items()} for p in trials["p"]]
    spread = [{label: s / sum(p.values()) for label, s in p.items()} for p in trials["p"]]
    return trials.assign(logits=raw, p=spread, method="encoder")


def whole(effects):
    "Rows over all prompts, by measure."
    return effects[effects["group"] == "all"].drop_duplicates("measure").set_index("measure")


def estimated(name, items, trials, **more):
    "The effects of one participant."
    return estimate_effects(trials, items, paradigm(name), **more)


# --- ground truths -----------------------------------------------------------------


def with_sets(items, chosen):
    "Trials whose scores are high for these roles and low for all others."
    roles = {each["role"] for each in items["options"].iloc[0]}
    return encoded(items, lambda item: {role: 0.9 if role in chosen else 0.1 for role in roles})


VALUE_SETS = {  # set -> right under normal, weak normal, weak: table 7 of the paper
    (): (0, 0, 0),
    ("high",): (1, 1, 1),
    ("low",): (0, 0, 1),
    ("same",): (0, 0, 1),
    ("high", "same"): (0, 1, 1),
    ("low", "same"): (0, 0, 1),
    ("high", "low"): (0, 0, 0),
    ("high", "low", "same"): (0, 0, 0),
}
TRUTHS = ("normal", "weak_normal", "weak")


@pytest.mark.parametrize("chosen", every_few(3, VALUE_SETS))
def test_every_set_of_a_value_question_under_every_ground_truth(chosen):
    "Table 7 row by row, through items, trials and registry."
    items = items_of("bets/value", orders="published", item_order="hl")
    found = whole(estimated("bets/value", items, with_sets(items, chosen)))
    for truth, right in zip(TRUTHS, VALUE_SETS[chosen]):
        assert found.loc[f"threshold_{truth}", "estimate"] == right, truth
        assert found.loc[f"threshold_{truth}", "status"] != "exploratory"
    chances = [found.loc[f"threshold_{truth}_guessing", "estimate"] for truth in TRUTHS]
    assert chances == pytest.approx([1 / 8, 2 / 8, 5 / 8])


BET_SETS = {  # set -> right under strict, positive, non-negative; win_high first, then win_low
    (): ((0, 0), 0, (0, 0)),
    ("win",): ((1, 0), 1, (1, 0)),
    ("lose",): ((0, 0), 0, (0, 0)),
    ("none",): ((0, 1), 0, (1, 1)),
    ("win", "lose"): ((0, 0), 1, (1, 0)),
    ("win", "none"): ((0, 0), 0, (0, 0)),
    ("lose", "none"): ((0, 0), 0, (0, 0)),
    ("win", "lose", "none"): ((0, 0), 0, (0, 0)),
}


@pytest.mark.parametrize("chosen", every_few(3, BET_SETS))
def test_every_set_of_a_bet_under_every_ground_truth(chosen):
    "Table 8.4 row by row: the mean over both types of bet; positive over the first alone."
    items = items_of("bets/dice", orders="published")
    found = whole(estimated("bets/dice", items, with_sets(items, chosen)))
    strict, positive, no_loss = BET_SETS[chosen]
    shares = {"strict": np.mean(strict), "positive": positive, "non_negative": np.mean(no_loss)}
    for truth, share in shares.items():
        assert found.loc[f"threshold_{truth}", "estimate"] == pytest.approx(share), truth
    assert found.loc["threshold_positive", "n_items"] == 50
    chances = [found.loc[f"threshold_{truth}_guessing", "estimate"] for truth in shares]
    assert chances == pytest.approx([1 / 8, 1 / 4, 1 / 4])
    bars = [found.loc[f"threshold_{truth}_constant_policy", "estimate"] for truth in shares]
    assert bars == pytest.approx([0.5, 1, 1])  # no bet; both sides; no bet


# --- beliefs -------------------------------------------------------------------------


def believing(belief):
    "Somebody who holds the high or the low thing dear, or both the same, and acts on it."
    acts = {
        "high": {"win_high": "win", "win_low": "none"},
        "low": {"win_high": "none", "win_low": "win"},
        "same": {"win_high": "none", "win_low": "none"},
    }[belief]

    def say(item):
        return {belief: 1.0} if item["condition"] == "value" else {acts[item["kind"]]: 1.0}

    return say


@pytest.mark.parametrize("belief, own, authors", [("high", 1, 1), ("low", 1, 0), ("same", 1, 0.5)])
@pytest.mark.parametrize("name", slow_but(["bets/coin"], BETS))
def test_bets_by_ones_own_values(name, belief, own, authors):
    "Nobody is called irrational for preferring another thing; fixture 7."
    items, values = items_of(name), items_of("bets/value")
    say = believing(belief)
    bets, said = told(items, say), told(values, say)
    suite = pd.concat([bets, said]), pd.concat([items, values], ignore_index=True)
    found = whole(estimated(name, items, bets, suite=suite))
    assert found.loc["belief_conditioned", "estimate"] == own
    assert found.loc["right_share", "estimate"] == authors
    assert found.loc["belief_difference", "estimate"] == own - authors
    assert "300 of 300 bets are about a pair" in found.loc["belief_conditioned", "detail"]
    same = "both objects are worth the same" in found.loc["belief_conditioned", "detail"]
    assert same == (belief == "same")


# --- the published test and its ties -------------------------------------------------


@pytest.mark.parametrize(
    "name, right, asked, p",
    [
        ("bets/coin", 42, 100, 0.04031),
        ("bets/value", 12, 25, 0.07519),
        ("bets/value", 13, 25, 0.03359),
        ("bets/value", 0, 25, 1.0),
        ("bets/value", 25, 25, 0.0),
    ],
)
def test_the_published_z_test(name, right, asked, p):
    "Fixture 5 through the registry: so many of the published test questions."
    items = items_of(name, **({"templates": ("CV",)} if name == "bets/value" else {}))
    published = items[items["is_published"] & (items["split"] == "test")]["item_id"].tolist()
    lucky = set(published[:right])

    def say(item):
        wrong = "lose" if item["condition"] == "bet" and item["right"] == "win" else "win"
        wrong = "low" if item["condition"] == "value" else wrong
        return {item["right"] if item["item_id"] in lucky else wrong: 1.0}

    row = whole(estimated(name, items, told(items, say))).loc["published_accuracy"]
    assert row["n_items"] == asked and row["estimate"] == right / asked
    assert row["p_value"] == pytest.approx(p, abs=5e-6)


def test_ties_are_shared_and_in_replication_the_first_takes_them():
    "Equal scores for all options: a third of each question, and as published always heads."
    items = items_of("bets/coin")
    alike = told(items, lambda item: dict.fromkeys(("win", "lose", "none"), 1 / 3))
    found = whole(estimated("bets/coin", items, alike))
    assert found.loc["right_share", "estimate"] == pytest.approx(1 / 3)
    assert found.loc["published_accuracy", "estimate"] == 0.25


# --- words ---------------------------------------------------------------------------


def test_accuracies_stay_out_of_what_is_said_of_biases():
    "One rule: a headline with words of its own is no bias."
    items, luck = items_of("bets/coin"), paradigm("managerial/optimism")
    rated = luck.items(settings=10)
    found = pd.concat(
        [
            estimated("bets/coin", items, exact_trials("rational", items)),
            estimate_effects(exact_trials("human", rated), rated, luck),
        ],
        ignore_index=True,
    ).assign(participant="sim/x")
    common = common_effects(found)
    assert common["paradigm"].unique().tolist() == ["managerial/optimism"]
    assert common.attrs["left_out"] == ["bets/coin"]


def test_a_place_is_a_constant_policy_and_no_reason_for_silence():
    "Always A is worse than never to bet, and the verdict may say so."
    items = items_of("bets/coin")
    found = estimated("bets/coin", items, exact_trials("position", items))
    assert found.iloc[0]["verdict"] == "worse"
    assert "position_dominated" in set(found["status"])  # said where places are told of


def test_unreadable_answers_count_as_wrong_and_at_their_worst_and_best():
    "A tenth of the questions is refused by somebody who is right in all others."
    items = items_of("bets/coin", splits=("test",), orders="published")
    trials = exact_trials("rational", items)
    lost = trials["item_id"].isin(items["item_id"][::10])
    refused = trials.assign(status=["refusal" if each else "ok" for each in lost])
    found = whole(estimated("bets/coin", items, refused.assign(p=trials["p"].where(~lost, None))))
    assert found.loc["accuracy_gain", "estimate"] == pytest.approx(0.5, abs=0.06)
    share = found.loc["accuracy_gain_share", "estimate"]
    assert share == 1.0
    for version, right in (("lower", 0.9), ("upper", 1.0)):
        assert found.loc[f"accuracy_gain_{version}", "estimate"] == pytest.approx(right - 0.5)
    silent = whole(estimated("bets/coin", items, trials.assign(status="refusal", p=None)))
    assert set(silent.filter(like="accuracy_gain", axis=0)["status"]) <= {"no_valid_answers", "ok"}
    assert silent.loc["accuracy_gain", "status"] == "no_valid_answers"
    assert silent.loc["accuracy_gain_lower", "estimate"] == pytest.approx(-0.5)


# --- answers of which only a part can be read ------------------------------------------


def read_where(items, say, readable):
    "Trials of somebody whose answers can be read where readable(item) says so."
    there = np.array([bool(readable(item)) for item in items.to_dict("records")])
    trials = told(items, say)
    status = np.where(there, "ok", "refusal")
    return trials.assign(status=status, p=trials["p"].where(there, None))


def dear_kind_first(item):
    "Readable throughout where the dear thing can be won, else where 'no bet' stands first."
    return item["kind"] == "win_high" or item["options"][0]["role"] == "none"


def only_where_wrong(item):
    "Only bets that are worth taking."
    return item["kind"] == "win_high"


# readable -> what "no bet" gains over the best constant policy, published and fresh
GAINS = {
    dear_kind_first: (-1 / 6, -1 / 4),  # always the first place gets more of what is read
    only_where_wrong: (-1 / 2, -1 / 2),  # one side throughout
}
FIRST_SIDE = {1: "win", 2: "lose"}  # layout -> role of the first side, where the dear thing is won


def never_bets(item):
    return {"none": 1.0}


def knows_the_type(item):
    return {FIRST_SIDE.get(item["layout"], "none"): 1.0}


@pytest.mark.parametrize("readable", GAINS)
@pytest.mark.parametrize(
    "item_set, ending", [("published", ""), pytest.param("fresh", "_fresh", marks=pytest.mark.slow)]
)
def test_a_constant_answer_gains_nothing_whatever_can_be_read(readable, item_set, ending):
    "Bars are of the questions that were read, with the weights of the share."
    items = items_of("bets/coin", item_sets=("published", "fresh"), splits=("test",))
    never = whole(estimated("bets/coin", items, read_where(items, never_bets, readable)))
    typed = whole(estimated("bets/coin", items, read_where(items, knows_the_type, readable)))
    gain = never.loc[f"accuracy_gain{ending}", "estimate"]
    assert gain == pytest.approx(GAINS[readable][item_set == "fresh"])
    assert gain <= 0
    assert never.loc[f"beyond_type{ending}", "estimate"] <= 0
    assert typed.loc[f"beyond_type{ending}", "estimate"] <= 0
    assert typed.loc[f"beyond_type{ending}", "estimate"] == 0
    share = never.loc[f"accuracy_gain{ending}_share", "estimate"]
    bar = never.loc[f"accuracy_gain{ending}_constant_policy", "estimate"]
    assert gain == pytest.approx(share - bar)
    if item_set == "published":
        drawn = never.loc["accuracy_gain_probability", "estimate"]
        assert drawn == pytest.approx(share)  # these answers are certain


RANKED = ("car", "house", "diamond", "pen", "paper", "airplane", "water", "computer", "sock")


def test_preferences_among_things_do_not_pass_for_knowledge_of_their_prices():
    "A ranking that knows no price is right in 20 of 25 pairs; questions about one thing agree."
    items = items_of("bets/value", orders="published", splits=("test",))

    def say(item):
        places = [RANKED.index(each) if each in RANKED else 9 for each in item["pair"].split("/")]
        return {"high" if places[0] < places[1] else "low": 1.0}

    row = whole(estimated("bets/value", items, told(items, say))).loc["accuracy_gain"]
    assert row["estimate"] == pytest.approx(0.8 - 0.5)
    assert row["ci_low"] < 0 and row["p_value"] > 0.05 and row["verdict"] == "inconclusive"
    assert "questions share objects; equivalent to" in row["detail"]
