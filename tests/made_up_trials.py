"""Trials of nobody in particular, and a paradigm around items that are made up."""

import pandas as pd

from cogbias.design import Contrast, Paradigm
from cogbias.tables import TRIALS

KEYS = ["paradigm", "item_id", "condition", "pair_id", "cluster", "stratum"]
FACTORS = ("wording", "rational", "split", "order_group", "anchor", "truth")


def around(items: pd.DataFrame, *contrasts: Contrast, **more: object) -> Paradigm:
    "A paradigm around some items."
    text = dict.fromkeys(("title", "bias", "summary", "norm", "positive", "source"), "")
    factors = {name: "" for name in FACTORS if name in items}
    known = {"name": items["paradigm"].iloc[0], "factors": factors, **text, **more}
    return Paradigm(items=lambda: items, contrasts=contrasts, **known)


def told(items: pd.DataFrame, repeats: int = 1, **columns: object) -> pd.DataFrame:
    "Trials of one participant, every prompt put some times."
    table = pd.concat([items[KEYS].assign(repeat=k) for k in range(repeats)], ignore_index=True)
    table = table.assign(participant="made up", backend="made", model="up", status="ok", attempt=1)
    table = table.assign(trial_id=table.index.astype(str), method="text", **columns)
    return table.reindex(columns=TRIALS.names)
