"A question that nobody answered, or that nobody was asked, counts for nothing."

import numpy as np
import pandas as pd
import pytest
from test_counts import in_words, spoken_of
from test_published_answers import EVERY_DAY, NAMES, facts
from tiers import KINDS, slow_but

import cogbias as cb
from cogbias.backends.sim import exact_trials
from cogbias.tables.words import status_words
from cogbias.design import paradigm, paradigms
from cogbias.effects import effect_rows, effects_table, estimate_effects
from cogbias.effects.published import SUSCEPTIBILITY
from cogbias.exchange.answers import keep_imported, part_of
from cogbias.folder import Folder, requests
from cogbias.folder import items as folder_items
from cogbias.folder import readings as folder_readings
from cogbias.folder import trials as folder_trials
from cogbias.stats.proportions import newcombe_paired, wilson

NUMBERS = ["estimate", "se", "df", "ci_low", "ci_high", "p_value", "n_clusters"]
KEYS = ["measure", "group", "target", "replication"]
# What an answer that cannot be read does to these is what they are about.
OF_VALIDITY = ("valid_share", "valid_mass")
OF_ENDS = ("_lower", "_upper")
GIVEN = ["choice", "role", "value", "p", "logits", "valid_mass"]
PROMPTED = [name for name in paradigms() if not name.startswith("published/")]


def refused(trials, here):
    "The same answers, of which some cannot be read."
    lost = trials.astype({name: object for name in GIVEN})
    lost.loc[here, GIVEN] = None
    return lost.assign(status=np.where(here, "invalid_format", trials["status"]))


def half_of_clusters(trials, seed=0):
    "Which answers are to one half of the clusters."
    clusters = sorted(trials["cluster"].unique())
    drawn = np.random.default_rng(seed).choice(clusters, len(clusters) // 2, replace=False)
    return trials["cluster"].isin(drawn).to_numpy()


def keyed(effects):
    "The rows by what they estimate."
    return effects.drop_duplicates(KEYS).set_index(KEYS)


def differing(one, other, leaving):
    "Rows that have a number in both tables, and not the same one."
    one, other = keyed(one), keyed(other)
    found = []
    for key in one.index.intersection(other.index):
        if key[0].startswith(OF_VALIDITY) or key[0].endswith(OF_ENDS) or key[0] in leaving:
            continue
        pair = [each.loc[key, NUMBERS].astype(float).to_numpy() for each in (one, other)]
        if np.isnan([numbers[0] for numbers in pair]).any():
            continue
        if not np.allclose(*pair, rtol=1e-9, atol=1e-12, equal_nan=True):
            found.append((key, *(numbers.tolist() for numbers in pair)))
    return found


def of_the_unread(name):
    "Published scores in which an answer that cannot be read counts as another answer."
    return {each.measure for each in paradigm(name).contrasts if each.invalid != "drop"}


def most(trials):
    "Which answers are to one half of the clusters, and to a quarter of the other prompts."
    return half_of_clusters(trials) | (np.random.default_rng(0).random(len(trials)) < 0.25)


WAYS = [True, pytest.param(False, marks=pytest.mark.slow)]  # exact probabilities, words


@pytest.mark.parametrize("name", slow_but(KINDS, PROMPTED))
@pytest.mark.parametrize("exact", WAYS, ids=["probabilities", "words"])
def test_refused_is_as_good_as_not_asked(name, exact):
    "Most refused, not asked, and not there at all: every row has one number."
    asked = paradigm(name)
    items = asked.items()
    items = items[items["options"].map(len) > 0] if exact else items
    if items.empty:
        pytest.skip("there are no options that could have a probability")
    trials = exact_trials("messy", items) if exact else in_words(items)
    here = most(trials)
    told, rest = refused(trials, here), trials[~here]
    never = estimate_effects(rest, items, asked)
    mine = items[items["item_id"].isin(rest["item_id"])]
    assert len(never) > 10 and never["estimate"].notna().sum() > 8
    assert differing(estimate_effects(told, items, asked), never, of_the_unread(name)) == []
    assert differing(estimate_effects(rest, mine, asked), never, set()) == []


@pytest.mark.parametrize("name", slow_but(EVERY_DAY, NAMES))
@pytest.mark.parametrize("half", ["clusters", "prompts"])
def test_refused_is_as_good_as_not_asked_of_published_prompts(name, half, tmp_path):
    "The same of published answers, and of what others read in them."
    asked = paradigm(name)
    keep_imported(part_of(facts(), [name]), tmp_path)
    with Folder(tmp_path) as folder:
        first = requests(folder)[0]
        items, readings = folder_items(folder, first), folder_readings(folder, first)
        trials = folder_trials(folder, [first])
    every_third = sorted(set(trials["item_id"]))[::3]
    by_prompt = trials["item_id"].isin(every_third).to_numpy()
    here = by_prompt if half == "prompts" else half_of_clusters(trials)
    told, rest = refused(trials, here), trials[~here]
    readings = readings[readings["trial_id"].isin(rest["trial_id"])]
    mine = items[items["item_id"].isin(rest["item_id"])]
    lost, never, only = (
        effects_table(effect_rows(each, of, asked, readings=readings))
        for each, of in ((told, items), (rest, items), (rest, mine))
    )
    assert never["estimate"].notna().sum() > 4
    assert differing(lost, never, {f"{SUSCEPTIBILITY}_parse_failure_rate"}) == []
    assert differing(only, never, set()) == []


def of_headline(name, each=3):
    "The prompts behind a headline, and some clusters of each stratum of them."
    items = paradigm(name).items()
    items = items[items["item_id"].isin(spoken_of(items, paradigm(name).headline))]
    units = items.drop_duplicates(["stratum", "cluster"])
    return items, set(units.groupby("stratum")["cluster"].head(each))


def answered_in(clusters, items, **columns):
    "Answers to the prompts of some clusters; the others are refused."
    trials = exact_trials("rational", items).assign(**columns)
    return refused(trials, ~items["cluster"].isin(clusters).to_numpy())


SUITES = ("choice/certainty", "logic/belief", "classic/framing", "managerial/anchoring")


@pytest.mark.parametrize("name", (*SUITES, "bets/coin"))
def test_a_place_is_liked_in_the_clusters_that_answered(name):
    "Few clusters take the first option, and nobody else says anything."
    items, few = of_headline(name)
    first = [shown[0]["label"] for shown in items["options"]]
    trials = answered_in(few, items, choice=first, p=None, method="text")
    found = estimate_effects(trials, items, paradigm(name))
    for condition, here in items.groupby("condition"):
        told = here.loc[here["cluster"].isin(few), "cluster"].nunique()
        assert 3 <= told < here["cluster"].nunique()
        rows = found[found["group"] == f"condition={condition}"].set_index("measure")
        limits = {
            "choose_position_1": (1.0, *wilson(told, told)),
            "position_locked": (1.0, *wilson(told, told)),
            "order_consistency": (0.0, *wilson(0, told)),
            "primacy": (1.0, *newcombe_paired(0, told, 0, 0)),
        }
        for measure, numbers in limits.items():
            shown = rows.loc[measure, ["estimate", "ci_low", "ci_high"]].tolist()
            assert shown == pytest.approx(numbers), measure
            assert rows.loc[measure, "n_clusters"] == told, measure
        asked = here["cluster"].nunique()  # of what could be read, all that was asked is the base
        assert rows.loc["valid_share", "n_clusters"] == asked


def weighted_rows(effects):
    "The rows over all prompts of contrasts that set all four cells against each other."
    four = [each.measure for each in paradigm("logic/belief").contrasts if each.weights]
    four = [name for name in four if not name.startswith("area_")]
    rows = effects[(effects["group"] == "all") & effects["measure"].isin(four)]
    assert len(rows) == len(four) + 1  # the headline stands for these prompts, too
    return rows


@pytest.mark.parametrize("half", ["is_valid", "is_believable"])
@pytest.mark.parametrize("how", ["not asked", "not in the table", "refused"])
def test_a_stratum_that_nobody_was_asked_about_is_no_zero(half, how):
    "Of belief against logic half says nothing; the share of that half is not the whole."
    asked = paradigm("logic/belief")
    items = asked.items()
    trials, here = exact_trials("human", items), items[half].to_numpy(bool)
    if how == "refused":
        trials = refused(trials, ~here)
    else:
        trials, items = trials[here], items if how == "not asked" else items[here]
    rows = weighted_rows(estimate_effects(trials, items, asked))
    assert rows[["estimate", "ci_low", "ci_high", "p_value"]].isna().all(axis=None)
    assert set(rows["status"]) == {"insufficient"}
    missing = "invalid_believable" if half == "is_valid" else "invalid_unbelievable"
    named = rows[rows["measure"].isin(["accuracy", "logic_index", "belief_index_difference"])]
    assert named["detail"].str.contains(missing).all()


def test_strata_that_weigh_alike_say_which_of_them_is_not_in_the_mean():
    "Somebody refuses all of one design; the effect is that of the other, and says so."
    asked = paradigm("choice/certainty")
    items = asked.items()
    trials = exact_trials("human", items)
    here = (items["stratum"] == "common_ratio").to_numpy()
    lost = keyed(estimate_effects(refused(trials, here), items, asked))
    rest = keyed(estimate_effects(trials[~here], items, asked))
    for target in "SF":
        key = ("certainty_effect", "all", target, False)
        assert lost.loc[key, "estimate"] == rest.loc[key, "estimate"]
        assert "the mean excludes common_ratio" in lost.loc[key, "detail"]
        assert "the mean excludes" not in rest.loc[key, "detail"]


def test_two_are_compared_where_both_answered_in_every_stratum():
    "Each answers half of the valid arguments, and not the same half: twins, but that is no tie."
    items = paradigm("logic/belief").items()
    number = items["cluster"].str.rpartition("/")[2].astype(int)
    early = (items["is_valid"] & (number <= 12)).to_numpy()
    late = (items["is_valid"] & (number > 12)).to_numpy()
    both = pd.concat(
        [
            refused(exact_trials("human", items), early),
            refused(exact_trials("human", items).assign(participant="its twin"), late),
        ],
        ignore_index=True,
    )
    found = cb.compare(both)
    assert found.ranks["estimate"].notna().all()
    (row,) = found.differences.to_dict("records")
    assert np.isnan(row["estimate"]) and row["larger"] != "tied"
    assert (
        "no cluster in valid_believable or valid_unbelievable was answered by both" in row["detail"]
    )


OF_TWO_CONDITIONS = ("classic/framing", "choice/certainty", "classic/anchoring", "managerial/halo")


@pytest.mark.parametrize(
    ("name", "asked", "other"),
    zip(OF_TWO_CONDITIONS, ("control", "treatment") * 2, ("treatment", "control") * 2),
)
def test_a_condition_that_was_not_asked_is_not_called_unreadable(name, asked, other):
    "Every answer was readable; what lacks is the other half of the comparison."
    items = paradigm(name).items()
    items = items[items["condition"] == asked]
    effects = estimate_effects(exact_trials("human", items), items, paradigm(name))
    said = f"only one condition was asked: {asked}, and not {other}"
    headline = effects.iloc[0]
    assert (headline["status"], headline["reason"]) == ("no_counterpart", said)
    without = effects[effects["status"] == "no_counterpart"]
    assert without["detail"].str.contains(said).all() and without["estimate"].isna().all()
    assert not effects["status"].isin(["no_valid_answers", "undefined"]).any()
    assert status_words(headline["status"]) == "one condition only"
