"""Make data/published/anchoring_llms.zip from the repository of Anchoring-LLMs (2025).

usage: python docs/anchoring_llms.py PATH

PATH is the repository felipevalencla/Anchoring-LLMs at 5fc32ce, as a folder or a zip file. Kept are
the licence of the data, the log probability of every answer, and of the printed summaries the
expected values and the test of log probabilities.
"""

from __future__ import annotations

import sys
import zipfile
from io import BytesIO
from pathlib import Path, PurePosixPath

import pandas as pd

from cogbias.exchange.rows import files_of

PLACE = Path(__file__).parents[1] / "data" / "published" / "anchoring_llms.zip"
SCORES = ["VariationID", "Anchor", "TargetInt", "LogProbFullPrompt"]
PRINTED = ["VariationID", "Anchor1", "EV1", "Anchor2", "EV2", "t_LogProb", "p_LogProb"]
AT = (2025, 11, 1, 0, 0, 0)  # date in the archive, so that the same files give the same bytes


def shortened(name: str, data: bytes) -> bytes:
    "A file with the columns that are read."
    if not name.endswith(".csv"):
        return data
    table = pd.read_csv(BytesIO(data), dtype=str)
    return table[SCORES if "_results_" in name else PRINTED].to_csv(index=False).encode()


def main(path: str) -> None:
    "Write the archive that ships."
    with zipfile.ZipFile(PLACE, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in files_of(path, ("_standard.csv", "_anchors.csv", "LICENSE-DATA")).items():
            info = zipfile.ZipInfo(PurePosixPath(name).name, AT)
            archive.writestr(info, shortened(name, data), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main(*sys.argv[1:])
