"How many answers a number rests on is counted from the answers, wherever it stands."

import pandas as pd
import pytest
from tiers import FEW, KINDS, slow_but

from cogbias.design import paradigm
from cogbias.effects import estimate_effects
from cogbias.participants import Request, participant
from cogbias.folder import FROM_ITEM, FROM_LIST, FROM_PARTICIPANT
from cogbias.tables import TRIALS
from cogbias.participants.trials import typed_trials

# Of these an estimate is made of a part of what is asked, by what it is: test questions, and bets
# about whose things something is believed.
OF_A_PART = ("threshold_", "belief_")


def in_words(items, model="sim/messy"):
    "Somebody's answers in words; a fifth of those of sim/messy cannot be read."
    who = participant(model)
    rows = items.to_dict("records")
    asked = [Request(row, 0, seed) for seed, row in enumerate(rows)]
    told = []
    for place, answer in who.answers(asked, "text"):
        said = {name: rows[place][name] for name in (*FROM_ITEM, *FROM_LIST)}
        said |= {name: getattr(who, name) for name in FROM_PARTICIPANT[1:]}
        said |= {"participant": who.name, "trial_id": f"{place:032x}", "method": "text"}
        told.append(answer._asdict() | said | {"repeat": 0, "seed": place})
    return typed_trials(pd.DataFrame(told)[TRIALS.names])


def spoken_of(items, contrast):
    "Which prompts a contrast speaks about, by its declaration."
    mine = items[items["condition"].isin([contrast.treatment, contrast.control])]
    for factor, levels in contrast.where.items():
        mine = mine[[each in levels for each in mine[factor]]]
    if contrast.include:
        mine = mine[mine[contrast.include].astype(bool)]
    return set(mine["item_id"])


def counts(trials, items):
    "Answers asked for and answers that could be read."
    mine = trials[[each in items for each in trials["item_id"]]]
    return len(mine), int((mine["status"] == "ok").sum())


def counted(row):
    "The same as a row of the table says."
    return int(row["n_trials"]), int(row["n_valid"])


@pytest.mark.parametrize("name", slow_but(FEW, KINDS))
def test_a_number_counts_the_answers_to_the_prompts_that_it_speaks_about(name):
    asked = paradigm(name)
    items = asked.items()
    trials = in_words(items)
    effects = estimate_effects(trials, items, asked)
    head = effects.iloc[0]
    every, read = counts(trials, spoken_of(items, asked.headline))
    assert 0 < read < every and counted(head) == (every, read)
    assert head["n_items"] == len(spoken_of(items, asked.headline))
    whole = effects[effects["group"] == "all"]
    for contrast in asked.contrasts:
        if contrast.kind.startswith(OF_A_PART):
            continue
        ends = [f"{contrast.measure}{end}" for end in ("", "_lower", "_upper")]
        for row in whole[whole["measure"].isin(ends)].to_dict("records"):
            assert counted(row) == counts(trials, spoken_of(items, contrast)), row["measure"]


def test_prompts_without_a_counterpart_are_named_and_not_counted():
    "A run that was stopped leaves ratings whose partner nobody gave."
    asked = paradigm("managerial/framing")
    items = asked.items().head(40)
    treated = items.loc[items["condition"] == asked.headline.treatment, "item_id"]
    trials = in_words(items, "sim/human")
    short = trials[~trials["item_id"].isin(set(treated.head(3)))]
    head = estimate_effects(short, items, asked).iloc[0]
    assert counted(head) == (34, 34)
    assert "3 of 37 answers are to prompts without a counterpart" in head["detail"]
