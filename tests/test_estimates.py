"""What the effects table promises of every estimate, over all paradigms."""

import numpy as np
import pytest

from cogbias.backends.sim import exact_trials
from cogbias.design import paradigm
from cogbias.arrays import answered, read_prompts
from cogbias.effects import difference, effect_row, estimate_effects, row_verdict


def sampled(who, items, repeats):
    "Choices drawn from the distributions of a simulated participant."
    rng, trials = np.random.default_rng(repeats), exact_trials(who, items)
    draws = trials.loc[trials.index.repeat(repeats)].reset_index(drop=True)
    choice = [rng.choice(list(p), p=list(p.values())) for p in draws["p"]]
    values = dict(zip(items["item_id"], items["options"]))
    number = [
        next(each["value"] for each in values[item] if each["label"] == label)
        for item, label in zip(draws["item_id"], choice)
    ]
    return draws.assign(
        choice=choice,
        value=number,
        p=None,
        method="text",
        repeat=draws.groupby("item_id").cumcount(),
        trial_id=draws.index.astype(str),
    )


RANGE = {"probability": (-2, 2), "Cliff's delta": (-1, 1), "share of stimulus sets": (-1, 1)}


@pytest.mark.parametrize("who", ("human", "rational", "mirror"))
@pytest.mark.parametrize("repeats", (1, 3))
def test_sampled_intervals_keep_their_range_and_their_width(who, repeats):
    "Some content sets, two prompts each: the differences are coarse, and often all alike."
    for name in ("classic/framing", "classic/anchoring", "classic/transaction_utility"):
        items = paradigm(name).items(variants=["base"])
        effects = estimate_effects(sampled(who, items, repeats), items, paradigm(name))
        for row in effects[(effects.target == "S") & effects.ci_low.notna()].itertuples():
            low, high = RANGE.get(row.unit, (-float("inf"), float("inf")))
            if row.measure == "framing_effect":
                low, high = -1, 1
            assert low <= row.ci_low <= row.estimate <= row.ci_high <= high, (name, row)
            if row.status == "ok":
                assert row.ci_high - row.ci_low > 1e-6, (name, row)


def test_dust_is_no_effect():
    "Differences of 1e-16 have neither a spread nor a p-value of 1e-33."
    contrast = paradigm("classic/framing").headline
    items = paradigm("classic/framing").items(variants=["base"])
    rows = read_prompts(answered(exact_trials("random", items), items), contrast)
    noise = np.random.default_rng(1).uniform(1e-16, 9e-16, len(rows))
    noise = noise + 8e-16 * rows.at("condition", "treatment")
    found = difference(contrast, rows.having(score=rows["score"] + noise))
    row = effect_row(contrast, rows, found)
    assert row["ci_low"] < -0.01 and row["ci_high"] > 0.01 and row["p_value"] > 0.5
    assert row_verdict({**row, "p_adjusted": row["p_value"]}, 0.1).verdict == "absent"


SHARES = ("probability", "share of stimulus sets", "share of order pairs", "share of choices")


def wholly_biased(items):
    "Exact trials of one who follows the bias in every prompt of the treatment, and never else."
    trials, options = exact_trials("random", items), dict(zip(items["item_id"], items["options"]))
    biased = (items["condition"] == "treatment").to_numpy()
    if "is_believable" in items:
        biased = biased & items["is_believable"].to_numpy(bool)
    towards = dict(zip(items["item_id"], biased))

    def certain(item):
        "Everything on one option: that of the bias, or the other one."
        wanted = [each["role"] in ("target", "accept") for each in options[item]]
        wanted = wanted if towards[item] else [not each for each in wanted]
        return {each["label"]: float(is_it) for each, is_it in zip(options[item], wanted)}

    return trials.assign(p=[certain(item) for item in trials["item_id"]])


@pytest.mark.parametrize("name", ("choice/certainty", "logic/belief"))
def test_a_total_bias_is_present_and_every_share_keeps_its_range(name):
    items = paradigm(name).items()
    effects = estimate_effects(wholly_biased(items), items, paradigm(name))
    headline = effects.iloc[0]
    assert (headline.estimate, headline.verdict) == (1.0, "present")
    shares = effects[effects.unit.isin(SHARES) & effects.ci_low.notna()]
    # the difference of two differences, and the product of two, go from -2 to 2
    twofold = shares.measure.str.startswith(paradigm(name).headline.measure) & ("logic" in name)
    reach = np.where(twofold | (shares.measure == "interaction"), 2.0, 1.0)
    assert (shares.ci_low >= -reach).all() and (shares.ci_high <= reach).all()
    placed = effects[effects.measure.str.match("primacy|order_|position_|choose_")]
    assert len(placed) == 10 and placed.ci_low.notna().all()
