"Accuracies: their ground truths through the registry, their words, their place in a report."

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from cogbias.backends.sim import exact_trials
from cogbias.compare import compare, difference_sentence
from cogbias.design import known_sizes, paradigm, size_words
from cogbias.effects import decide, estimate_contrast, estimate_effects, headlines
from cogbias.front_door import plan
from cogbias.planning.plans import TITLE_OF_POWER, plan_tables
from cogbias.reporting.cell import headline_sentence, opening
from cogbias.reporting.study import common_effects, scale_label
from cogbias.showing import show
from cogbias.tables import CogbiasError, save_table
from tiers import slow_but

BETS = ("bets/coin", "bets/dice", "bets/card")


@cache
def items_of(name: str, **settings: object) -> pd.DataFrame:
    "The published items of a paradigm; read them, do not change them."
    return paradigm(name).items(**{"item_sets": ("published",)} | settings)


def told(items: pd.DataFrame, say: object) -> pd.DataFrame:
    "Trials of somebody who gives every role of a question a probability: say(item)."
    p = []
    for item in items.to_dict("records"):
        chances = say(item)
        p.append({each["label"]: chances.get(each["role"], 0.0) for each in item["options"]})
    return exact_trials("rational", items).assign(p=p)


def encoded(items: pd.DataFrame, score: object) -> pd.DataFrame:
    "Trials of an encoder whose raw scores have this logistic function: score(item), by role."
    trials = told(items, score)
    raw = [{label: float(np.log(s / (1 - s))) for label, s in p.items()} for p in trials["p"]]
    spread = [{label: s / sum(p.values()) for label, s in p.items()} for p in trials["p"]]
    return trials.assign(logits=raw, p=spread, method="encoder")


def whole(effects: pd.DataFrame) -> pd.DataFrame:
    "Rows over all prompts, by measure."
    return effects[effects["group"] == "all"].drop_duplicates("measure").set_index("measure")


def estimated(name: str, items: pd.DataFrame, trials: pd.DataFrame, **more: object) -> pd.DataFrame:
    "The effects of one participant."
    return decide(estimate_effects(trials, items, paradigm(name), **more))


# --- ground truths -----------------------------------------------------------------


def with_sets(items: pd.DataFrame, chosen: tuple[str, ...]) -> pd.DataFrame:
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


@pytest.mark.parametrize("chosen", VALUE_SETS)
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


@pytest.mark.parametrize("chosen", BET_SETS)
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


def test_a_threshold_in_a_gap_is_flagged():
    "Half of the dev questions need .10 and half .90: .50, which is right for none of them."
    items = items_of("bets/value", templates=("CV",), orders="published", item_order="hl")
    dev = items["split"] == "dev"
    half = {pair: place % 2 for place, pair in enumerate(items[dev]["pair"].unique())}

    def torn(item: dict) -> dict[str, float]:
        if item["split"] == "test":
            return {"high": 0.7, "low": 0.2, "same": 0.2}
        low = 0.095 if half[item["pair"]] else 0.895
        return {"high": low + 0.01, "low": low, "same": 0.01}

    trials = encoded(items, torn)
    few = items[~((items["split"] == "dev") & (items["pair"] == list(half)[-1]))]  # 12 and 12
    mine = trials[trials["item_id"].isin(few["item_id"])]
    row = whole(estimated("bets/value", few, mine)).loc["threshold_normal"]
    assert (
        "threshold 0.5 for CV from 24 development questions (2 values of 101 do best" in row.detail
    )
    assert "0.80 from first to last" in row.detail
    assert "does not do best itself (0.00 and not 0.50)" in row.detail
    assert row.estimate == 1.0


# --- beliefs -------------------------------------------------------------------------


def believing(belief: str) -> object:
    "Somebody who holds the high or the low thing dear, or both the same, and acts on it."
    acts = {
        "high": {"win_high": "win", "win_low": "none"},
        "low": {"win_high": "none", "win_low": "win"},
        "same": {"win_high": "none", "win_low": "none"},
    }[belief]

    def say(item: dict) -> dict[str, float]:
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
    assert "300 of 300 bets have a belief" in found.loc["belief_conditioned", "detail"]
    same = "both things are worth the same" in found.loc["belief_conditioned", "detail"]
    assert same == (belief == "same")


def test_a_belief_of_another_modality_is_not_mixed_in():
    "The whole suite is read for the values; the bets are those of the paradigm."
    coin, dice, values = items_of("bets/coin"), items_of("bets/dice"), items_of("bets/value")
    right, wrong = believing("high"), believing("low")
    trials = [told(coin, right), told(dice, wrong), told(values, right)]
    suite = pd.concat(trials), pd.concat([coin, dice, values], ignore_index=True)
    for name, items, mine, share in (("bets/coin", coin, 0, 1.0), ("bets/dice", dice, 1, 0.0)):
        found = whole(estimated(name, items, trials[mine], suite=suite))
        assert found.loc["belief_conditioned", "estimate"] == share
        assert found.loc["belief_conditioned", "n_items"] == 300
        assert found.loc["threshold_strict", "estimate"] == share
        assert found.loc["threshold_strict", "n_items"] == 300


def test_without_values_there_is_no_accuracy_by_them():
    "Insufficient, not zero."
    items = items_of("bets/card")
    found = whole(estimated("bets/card", items, told(items, believing("high"))))
    for measure in ("belief_conditioned", "belief_difference"):
        assert found.loc[measure, "status"] == "insufficient"
        assert pd.isna(found.loc[measure, "estimate"])


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

    def say(item: dict) -> dict[str, float]:
        wrong = "lose" if item["condition"] == "bet" and item["right"] == "win" else "win"
        wrong = "low" if item["condition"] == "value" else wrong
        return {item["right"] if item["item_id"] in lucky else wrong: 1.0}

    row = whole(estimated(name, items, told(items, say))).loc["published_accuracy"]
    assert row["n_items"] == asked and row["estimate"] == right / asked
    assert row["p_value"] == pytest.approx(p, abs=5e-6)


@pytest.mark.parametrize("truth, right, p", [("strict", 12, 0.56084), ("positive", 13, 0.43660)])
def test_the_published_z_test_of_the_threshold_method(truth, right, p):
    "12 of 100 against 1/8, 13 of 50 against 1/4."
    made, items = paradigm("bets/coin"), items_of("bets/coin", orders="published")
    test = items[(items["split"] == "test") & (items["kind"] == "win_high")]["item_id"]
    lucky = set(test.tolist()[:right])

    def score(item: dict) -> dict[str, float]:
        takes = "win" if item["split"] == "dev" or item["item_id"] in lucky else "lose"
        return {role: 0.9 if role == takes else 0.1 for role in ("win", "lose", "none")}

    tuned = next(each for each in made.contrasts if each.measure == f"threshold_{truth}")
    published = replace(tuned, replication=True, include="is_published")
    row = estimate_contrast(published, encoded(items, score), items)[0]
    assert row["estimate"] == right / (100 if truth == "strict" else 50)
    assert row["p_value"] == pytest.approx(p, abs=5e-6)
    assert "z with sample sd" in row["method"]


def test_ties_are_shared_and_in_replication_the_first_takes_them():
    "Equal scores for all options: a third of each question, and as published always heads."
    items = items_of("bets/coin")
    alike = told(items, lambda item: dict.fromkeys(("win", "lose", "none"), 1 / 3))
    found = whole(estimated("bets/coin", items, alike))
    assert found.loc["right_share", "estimate"] == pytest.approx(1 / 3)
    assert found.loc["published_accuracy", "estimate"] == 0.25


# --- words ---------------------------------------------------------------------------


@pytest.mark.parametrize("role, word", [("high", "no better"), ("low", "worse")])
def test_nobody_is_better_where_a_constant_policy_gets_everything(role, word):
    "The published order of the value questions: the headline says so in words."
    items = items_of("bets/value", orders="published", item_order="hl")
    found = estimated("bets/value", items, told(items, lambda item: {role: 1.0}))
    row = found.iloc[0]
    assert row["verdict"] == word
    assert "no answer can do better than the best constant policy" in row["detail"]
    sentence = headline_sentence(row, paradigm("bets/value"), "x")
    assert f"is {word}" in sentence or f"is {word} than" in sentence


@pytest.mark.parametrize("who", ["rational", "random", "type_only", "position"])
def test_no_sentence_of_the_first_screen_speaks_of_a_bias_of_people(who):
    made, items = paradigm("bets/coin"), items_of("bets/coin")
    found = estimated("bets/coin", items, exact_trials(who, items))
    words = opening(found, made, who).replace("not a bias", "")
    for forbidden in ("human", "towards", "Without bias", made.bias, "shows a"):
        assert forbidden not in words, forbidden


def test_accuracies_stay_out_of_what_is_said_of_biases():
    "One rule: a headline with words of its own is no bias."
    items, luck = items_of("bets/coin"), paradigm("managerial/optimism")
    rated = luck.items(settings=10)
    found = pd.concat(
        [
            estimated("bets/coin", items, exact_trials("rational", items)),
            decide(estimate_effects(exact_trials("human", rated), rated, luck)),
        ],
        ignore_index=True,
    ).assign(participant="sim/x")
    common = common_effects(found)
    assert common["paradigm"].unique().tolist() == ["managerial/optimism"]
    assert common.attrs["left_out"] == ["bets/coin"]
    assert scale_label(found) == "shift, in lengths of the scale"


def test_a_place_is_a_constant_policy_and_no_reason_for_silence():
    "Always A is worse than never to bet, and the verdict may say so."
    items = items_of("bets/coin")
    found = estimated("bets/coin", items, exact_trials("position", items))
    assert found.iloc[0]["verdict"] == "worse"
    assert "position_dominated" in set(found["status"])  # said where places are told of


def test_right_answers_may_be_scored_by_any_estimator_of_prompts():
    "The outcome `right` without an estimator of bets: the mean of every cluster."
    items = items_of("bets/coin", splits=("test",))
    usual = replace(paradigm("bets/coin").headline, kind="difference")
    row = estimate_contrast(usual, exact_trials("rational", items), items)[0]
    assert row["estimate"] == pytest.approx(0.5)
    assert "always 'I should not bet on either one', which gets 0.50 right" in row["detail"]


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
    for version, right in (("itt", 0.9), ("lower", 0.9), ("upper", 1.0)):
        assert found.loc[f"accuracy_gain_{version}", "estimate"] == pytest.approx(right - 0.5)
    assert found.loc["accuracy_gain_itt", "detail"] == "invalid answers count as wrong"
    silent = whole(estimated("bets/coin", items, trials.assign(status="refusal", p=None)))
    assert set(silent.filter(like="accuracy_gain", axis=0)["status"]) <= {
        "no_valid_answers",
        "ok",
    }
    assert silent.loc["accuracy_gain", "status"] == "no_valid_answers"
    assert silent.loc["accuracy_gain_lower", "estimate"] == pytest.approx(-0.5)


# --- two participants ------------------------------------------------------------------


def test_each_count_of_a_headline_says_what_it_counts():
    "100 published questions about 5 expensive items, and the 100 pairs of the default design."
    name, whole_size = "bets/coin", size_words(known_sizes()["bets/coin"], paradigm("bets/coin"))
    assert whole_size == "600 prompts in 100 expensive items"
    items = items_of(name, splits=("test",))
    named = [exact_trials(who, items).assign(participant=who) for who in ("rational", "random")]
    found = [decide(estimate_effects(each, items, paradigm(name))) for each in named]
    effects = pd.concat(found, ignore_index=True)
    assert set(headlines(effects)["n_clusters"]) == {100}
    assert "100 clusters" not in repr(show(effects))
    ranks = compare(pd.concat(named), items=items).ranks
    assert set(ranks["n_clusters"]) == {5}
    for settings in ({}, {"item_sets": ["published"]}):
        planned = plan("sim/human", name, settings={name: settings})
        (line,) = plan_tables(planned)[TITLE_OF_POWER].to_dict("records")
        assert line["clusters"] == "100"


def test_shares_that_differ_in_part_are_told_apart():
    "Orders that tie give a third of a question; the plain test counts on all 100 of them."
    items = items_of("bets/coin", splits=("test",))
    named = [exact_trials(who, items).assign(participant=who) for who in ("rational", "random")]
    found = compare(pd.concat(named), "rational", "random", items=items)
    (apart,) = found.differences.to_dict("records")
    assert apart["estimate"] == pytest.approx(2 / 3)
    assert 1e-4 < apart["p_value"] < 0.01  # all right: worth seven questions
    assert "questions share things: worth 6.8 and" in apart["detail"]
    assert "rational is right more often" in difference_sentence(apart)


def test_the_likeliest_answer_and_a_drawn_one_are_two_numbers():
    "Somebody graded takes the right choice most often; drawn answers show how surely."
    items = items_of("bets/value", splits=("test",), item_sets=("graded",))
    items = items.assign(item_set="published")
    found = whole(estimated("bets/value", items, exact_trials("graded", items)))
    ratio = np.exp(items["log_ratio"].to_numpy(float))
    assert found.loc["accuracy_gain_share", "estimate"] == 1.0
    drawn = found.loc["accuracy_gain_probability", "estimate"]
    assert drawn == pytest.approx((ratio / (1 + ratio)).mean())


# --- answers of which only a part can be read ------------------------------------------


def read_where(items: pd.DataFrame, say: object, readable: object) -> pd.DataFrame:
    "Trials of somebody whose answers can be read where readable(item) says so."
    there = np.array([bool(readable(item)) for item in items.to_dict("records")])
    trials = told(items, say)
    status = np.where(there, "ok", "refusal")
    return trials.assign(status=status, p=trials["p"].where(there, None))


def dear_kind_first(item: dict) -> bool:
    "Readable throughout where the dear thing can be won, else where 'no bet' stands first."
    return item["kind"] == "win_high" or item["options"][0]["role"] == "none"


def cheap_kind_first(item: dict) -> bool:
    "The same, types exchanged."
    return item["kind"] == "win_low" or item["options"][0]["role"] == "none"


def not_first(item: dict) -> bool:
    "Where the cheap thing can be won, readable unless 'no bet' stands first."
    return item["kind"] == "win_high" or item["options"][0]["role"] != "none"


def some_pairs(item: dict) -> bool:
    "Where the dear thing can be won, about half of the prompts."
    return item["kind"] == "win_low" or int(item["item_id"], 16) % 2 == 0


def only_where_wrong(item: dict) -> bool:
    "Only bets that are worth taking."
    return item["kind"] == "win_high"


# readable -> what "no bet" gains over the best constant policy, published and fresh
GAINS = {
    dear_kind_first: (-1 / 6, -1 / 4),  # always the first place gets more of what is read
    cheap_kind_first: (0, 0),
    not_first: (0, 0),
    some_pairs: (0, 0),
    only_where_wrong: (-1 / 2, -1 / 2),  # one side throughout
}
FIRST_SIDE = {1: "win", 2: "lose"}  # layout -> role of the first side, where the dear thing is won


def never_bets(item: dict) -> dict[str, float]:
    return {"none": 1.0}


def knows_the_type(item: dict) -> dict[str, float]:
    return {FIRST_SIDE.get(item["layout"], "none"): 1.0}


@pytest.mark.parametrize("readable", GAINS)
@pytest.mark.parametrize(
    "item_set, ending",
    [("published", ""), pytest.param("fresh", "_fresh", marks=pytest.mark.slow)],
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
    if readable is not some_pairs:  # there, chance leaves more bets that the other side wins
        assert typed.loc[f"beyond_type{ending}", "estimate"] == 0
    share = never.loc[f"accuracy_gain{ending}_share", "estimate"]
    bar = never.loc[f"accuracy_gain{ending}_constant_policy", "estimate"]
    assert gain == pytest.approx(share - bar)
    if item_set == "published":
        drawn = never.loc["accuracy_gain_probability", "estimate"]
        assert drawn == pytest.approx(share)  # these answers are certain


@pytest.mark.parametrize("side", ["I should bet on heads", "I should bet on tails", 0, 1, 2])
def test_no_constant_answer_beats_the_best_of_them_where_it_is_right(side):
    "Read only where it is right: the best policy of these questions is this one."
    items = items_of("bets/coin", splits=("test",))

    def taken(item: dict) -> str:
        places = [each["role"] for each in item["options"]]
        texts = {each["text"]: each["role"] for each in item["options"]}
        return places[side] if isinstance(side, int) else texts[side]

    def say(item: dict) -> dict[str, float]:
        return {taken(item): 1.0}

    mine = read_where(items, say, lambda item: taken(item) == item["right"])
    row = whole(estimated("bets/coin", items, mine)).loc["accuracy_gain"]
    assert row["estimate"] == 0 and "1.00 right" in row["detail"]
    assert "prompts without a readable answer left out" in row["detail"]


def test_bars_of_thresholds_weigh_questions_as_the_share_does():
    "Never to bet is the best constant set for either ground truth, however little is read."
    items = items_of("bets/coin")

    def score(item: dict) -> dict[str, float]:
        return {"win": 0.1, "lose": 0.1, "none": 0.9}

    trials = encoded(items, score)
    keep = [cheap_kind_first(item) for item in items.to_dict("records")]
    found = whole(estimated("bets/coin", items, trials[keep]))
    for truth in ("strict", "non_negative"):
        share = found.loc[f"threshold_{truth}", "estimate"]
        bar = found.loc[f"threshold_{truth}_constant_policy", "estimate"]
        assert bar == pytest.approx(share), truth
        assert f"{share:.2f} right" in found.loc[f"threshold_{truth}", "detail"]


def test_balanced_accuracy_has_questions_as_its_units():
    "A value question is right at every place in turn: 100 questions, not 300."
    items = items_of("bets/value", splits=("test",))

    pairs = sorted(set(items["pair"]))  # by dear thing and then by cheap one, five of each

    def say(item: dict) -> dict[str, float]:
        dear, cheap = divmod(pairs.index(item["pair"]), 5)
        return {item["right"] if (dear + cheap) % 5 < 3 else "low": 1.0}  # no thing decides

    found = whole(estimated("bets/value", items, told(items, say)))
    share, balanced = found.loc["right_share"], found.loc["balanced_accuracy"]
    for each in ("estimate", "ci_low", "ci_high", "n_clusters"):
        assert balanced[each] == pytest.approx(share[each]), each
    assert "share questions" in balanced["method"]
    assert 0.15 < balanced["ci_high"] - balanced["ci_low"] < 0.25


RANKED = ("car", "house", "diamond", "pen", "paper", "airplane", "water", "computer", "sock")


def test_preferences_among_things_do_not_pass_for_knowledge_of_their_prices():
    "A ranking that knows no price is right in 20 of 25 pairs; questions about one thing agree."
    items = items_of("bets/value", orders="published", splits=("test",))

    def say(item: dict) -> dict[str, float]:
        places = [RANKED.index(each) if each in RANKED else 9 for each in item["pair"].split("/")]
        return {"high" if places[0] < places[1] else "low": 1.0}

    row = whole(estimated("bets/value", items, told(items, say))).loc["accuracy_gain"]
    assert row["estimate"] == pytest.approx(0.8 - 0.5)
    assert row["ci_low"] < 0 and row["p_value"] > 0.05 and row["verdict"] == "inconclusive"
    assert "questions share things: worth" in row["detail"]


@pytest.mark.slow
def test_balanced_accuracy_covers_whatever_can_be_read():
    "A belief per question, right in 60 of 100 of them; a third of the prompts is not readable."
    items = items_of("bets/value", splits=("test",))
    code = pd.factorize(items["pair"] + items["template"])[0]
    number = dict(zip(items["item_id"], code))
    draw, held = np.random.default_rng(0), []
    for _ in range(40):
        luck, read = draw.random(code.max() + 1) < 0.6, draw.random(len(items)) < 2 / 3
        there = dict(zip(items["item_id"], read))

        def say(item: dict) -> dict[str, float]:
            return {"high" if luck[number[item["item_id"]]] else "low": 1.0}

        mine = read_where(items, say, lambda item: there[item["item_id"]])
        contrast = next(
            each for each in paradigm("bets/value").contrasts if each.measure == "balanced_accuracy"
        )
        row = estimate_contrast(contrast, mine, items)[0]
        held.append(row["ci_low"] <= 0.6 <= row["ci_high"])
    assert np.mean(held) >= 0.88  # with kinds taken as independent: about three quarters


@pytest.mark.parametrize(
    "name",
    slow_but(
        ["bets/coin", "bets/value", "bets/open"],
        [*BETS, "bets/value", "bets/open", "bets/clock", "bets/urn"],
    ),
)
def test_who_never_answers_has_rows_that_can_be_stored(name, tmp_path):
    "Every row says why it is empty."
    items = paradigm(name).items()
    silent = told(items, lambda item: {}).assign(status="refusal", p=None)
    found = estimated(name, items, silent)
    save_table(found, tmp_path / "effects.parquet")
    empty = found[found["estimate"].isna()]
    assert len(empty) and not (empty["status"] == "ok").any()


# --- words of what is lacking ----------------------------------------------------------


def test_contradicting_values_are_told_apart_from_values_never_asked():
    "Both are no belief, and either has its words."
    items, values = items_of("bets/coin"), items_of("bets/value")
    bets = told(items, believing("high"))
    torn = told(values, lambda item: {item["options"][0]["role"]: 1.0})  # always the first
    suite = pd.concat([bets, torn]), pd.concat([items, values], ignore_index=True)
    never = whole(estimated("bets/coin", items, bets)).loc["belief_conditioned"]
    row = whole(estimated("bets/coin", items, bets, suite=suite)).loc["belief_conditioned"]
    assert {row["status"], never["status"]} == {"insufficient"}
    assert "300 bets: its value answers name no single choice" in row["detail"]
    assert "300 bets: no readable value answer" in never["detail"]


def test_items_without_a_test_split_are_named_as_such():
    "The error says what the items lack, not that answers are missing."
    items = items_of("bets/coin", splits=("dev",))
    with pytest.raises(CogbiasError, match="the items hold no split 'test'"):
        estimate_effects(told(items, believing("high")), items, paradigm("bets/coin"))
