"""Lay a managerial paradigm out: some settings x all sets of its shelf, told in both ways.

    python docs/read_aloud.py managerial/attribution [settings] > pages.txt

A question or a scale that was printed before is left out; a story is always printed.
"""

import sys
from collections.abc import Iterator

import pandas as pd

from cogbias.design import paradigm
from cogbias.kits.shelf import shelf


def stories(
    name: str,  # a paradigm with a shelf
    settings: int,  # how many business settings
) -> pd.DataFrame:  # its items, in the declared order of the scale
    "Every set of the shelf in every setting."
    items = paradigm(name).items(settings=settings, instances=len(shelf(name)))
    return items[items["option_order"] == 1].sort_values(["filling_set", "pair_id", "condition"])


def pages(
    items: pd.DataFrame,  # as from stories
) -> Iterator[str]:
    "A block of text for each pair: its set and setting, then both prompts."
    printed = set()
    for (filling_set, pair), rows in items.groupby(["filling_set", "pair_id"], sort=False):
        lines = [f"== {filling_set} | {pair}"]
        for row in rows.itertuples():
            story, *rest = row.prompt.split("\n\n")
            fresh = [part for part in rest if part not in printed]
            printed.update(fresh)
            lines += [f"{row.condition}: {story}", *fresh]
        yield "\n".join(lines)


if __name__ == "__main__":
    _, asked, *count = sys.argv
    print("\n\n".join(pages(stories(asked, int(*count or [10])))))
