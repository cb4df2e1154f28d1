"""Make data/published/bais.zip from the repository of bAIs (2026).

usage: python docs/bais.py PATH

PATH is the repository voder-ai/bAIs at 33b515b, as a folder or a zip file. Kept are its licence and
the records, without the turns before the last answer; the order of records and files is theirs.
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

from cogbias.exchange.rows import files_of

PLACE = Path(__file__).parents[1] / "data" / "published" / "bais.zip"
TURNS = ("turns", "allTurns", "iterationDetails", "initialResponse", "finalResponse")
KEPT = (".jsonl", "LICENSE")
AT = (2026, 3, 3, 0, 0, 0)  # date in the archive, so that the same files give the same bytes


def without_turns(record: dict[str, Any]) -> dict[str, Any]:
    "A record with its last answer only."
    kept = {name: value for name, value in record.items() if name not in TURNS}
    if "rawResponses" in kept:
        kept["rawResponses"] = kept["rawResponses"][-1:]
    return kept


def shortened(name: str, data: bytes) -> str:
    "A file of records with their last answers only."
    if not name.endswith(".jsonl"):
        return data.decode()
    records = (json.loads(line) for line in data.splitlines() if line.strip())
    lines = (json.dumps(without_turns(each), ensure_ascii=False) for each in records)
    return "".join(f"{line}\n" for line in lines)


def main(path: str) -> None:
    "Write the archive that ships."
    with zipfile.ZipFile(PLACE, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in files_of(path, KEPT).items():
            inside = (
                name[name.find("results/") :] if "results/" in name else PurePosixPath(name).name
            )
            archive.writestr(
                zipfile.ZipInfo(inside, AT), shortened(name, data), zipfile.ZIP_DEFLATED
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
