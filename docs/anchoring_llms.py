"""Make data/published/anchoring_llms* from the repository of Anchoring-LLMs (2025).

usage: python docs/anchoring_llms.py PATH

PATH is the repository felipevalencla/Anchoring-LLMs at 5fc32ce, as a folder or a zip file. Two sets
of files have six wordings each: with the published anchors 10 and 65, and with others. The first
wording has the published anchors in both; it is taken from the first set. Kept are the probability
of every answer, the expected values and tests of log probabilities that are printed, and the
license of the data.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cogbias.exchange.published_answers import COLUMNS
from cogbias.exchange.rows import files_of
from cogbias.kits.published import PublishedPair
from cogbias.tables import item_table, option, save_table

PLACE = Path(__file__).parents[1] / "data" / "published"
NAMED = re.compile(r"anchoring_(?:.+_)?([^_]+)_(results|statistical_summary)_(.+)\.csv$")
ANCHORS_OF = {"standard": "published", "different_anchors": "others"}
PARADIGM = "published/anchoring_llms"
PRINTED = ["VariationID", "EV1", "EV2", "t_LogProb", "p_LogProb"]


def files(path: str, kind: str) -> Iterator[tuple[str, str, pd.DataFrame]]:
    "Model, which anchors, and the rows of each file of a kind."
    for name, data in files_of(path, (".csv",)).items():
        if (named := NAMED.search(name)) and named[2] == kind and named[3] in ANCHORS_OF:
            anchors, table = ANCHORS_OF[named[3]], pd.read_csv(BytesIO(data))
            again = (anchors == "others") & (table["VariationID"] == 0)
            yield named[1], anchors, table[~again]


def scored(path: str) -> Iterator[dict[str, Any]]:
    "Every distribution."
    for model, anchors, table in files(path, "results"):
        low = table.groupby("VariationID")["Anchor"].min()
        for (number, anchor), rows in table.groupby(["VariationID", "Anchor"]):
            yield {
                "model": model,
                "anchors": anchors,
                "wording": f"wording {number}",
                "condition": "low" if anchor == low[number] else "high",
                "anchor": float(anchor),
                "labels": rows["TargetInt"].map("{}%".format).tolist(),
                "p": np.exp(rows["LogProbFullPrompt"]).tolist(),
            }


def item_row(asked: Mapping[str, Any]) -> dict[str, Any]:
    "A prompt as a row of an items table."
    prompt = (
        f"[{asked['wording']} of the repository: whether the share of African nations in the "
        f"United Nations is higher or lower than {asked['anchor']:g}%, and what it is]"
    )
    return {
        "condition": asked["condition"],
        "pair_id": f"{asked['wording']}, {asked['anchors']}",
        "cluster": asked["wording"],
        "stratum": asked["anchors"],
        "prompt": prompt,
        "options": [option(each, each, "percent", float(each[:-1])) for each in asked["labels"]],
        "answer": "scale",
        "content": {"kind": "published", "source": "anchoring-llms", "set": asked["wording"]},
        "arm": "none",
        "anchor": asked["anchor"],
        "anchors": asked["anchors"],
        **PublishedPair(name=asked["wording"]).factors(),
    }


def main(path: str) -> None:
    "Write the files that ship."
    place = ["anchors", "wording", "condition", "anchor"]
    table = pd.DataFrame(scored(path))
    asked = table.drop_duplicates(place)
    items = item_table(PARADIGM, map(item_row, asked.to_dict("records")))
    save_table(items, PLACE / "anchoring_llms_items.parquet")
    ids = dict(zip(asked[place].itertuples(index=False, name=None), items["item_id"]))
    table["item_id"] = [ids[each] for each in table[place].itertuples(index=False, name=None)]
    who = {"paradigm": PARADIGM, "participant": table["model"], "arm": "none"}
    table = table.assign(**who, repeat=0).sort_values("model", kind="stable")
    table.reindex(columns=COLUMNS).to_parquet(
        PLACE / "anchoring_llms.parquet", compression="zstd", index=False
    )
    printed = [
        told[PRINTED].assign(model=model, anchors=anchors)
        for model, anchors, told in files(path, "statistical_summary")
    ]
    pd.concat(printed).to_csv(PLACE / "anchoring_llms_printed.csv", index=False)
    for name, data in files_of(path, ("LICENSE-DATA",)).items():
        (PLACE / "anchoring_llms_LICENSE.txt").write_bytes(data)


if __name__ == "__main__":
    main(*sys.argv[1:])
