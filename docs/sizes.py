"""How many prompts and clusters every paradigm has, counted from its items.

    python docs/sizes.py

Writes data/paradigm_sizes.csv. Takes half a minute.
"""

from pathlib import Path

import pandas as pd

from cogbias.design import paradigm, paradigms, size_of

SIZES = Path(__file__).resolve().parent.parent / "data" / "paradigm_sizes.csv"


def main() -> None:
    "Make the items of all paradigms, and keep how many there are."
    rows = [{"paradigm": name, **size_of(paradigm(name).items())._asdict()} for name in paradigms()]
    pd.DataFrame(rows).astype({"crossed": "Int64"}).to_csv(SIZES, index=False)


if __name__ == "__main__":
    main()
