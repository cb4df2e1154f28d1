"""Trials of nobody in particular, and a paradigm around items that are made up."""

import pandas as pd

from cogbias.design import Paradigm
from cogbias.tables import TRIALS

KEYS = ["paradigm", "item_id", "condition", "pair_id", "cluster", "stratum"]
FACTORS = ("wording", "rational", "split", "order_group", "anchor", "truth")


def around(items, *contrasts, **more):
    "A paradigm around some items."
    text = dict.fromkeys(("title", "bias", "summary", "norm", "positive", "source"), "")
    factors = {name: "" for name in FACTORS if name in items}
    known = {"name": items["paradigm"].iloc[0], "factors": factors, **text, **more}
    return Paradigm(items=lambda: items, contrasts=contrasts, **known)


def told(items, repeats=1, **columns):
    "Trials of one participant, every prompt put some times."
    table = pd.concat([items[KEYS].assign(repeat=k) for k in range(repeats)], ignore_index=True)
    table = table.assign(participant="made up", backend="made", model="up", status="ok", attempt=1)
    table = table.assign(trial_id=table.index.astype(str), method="text", **columns)
    return table.reindex(columns=TRIALS.names)
