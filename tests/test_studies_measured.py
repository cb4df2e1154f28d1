"What the benchmark of studies stores holds every number that its page shows."

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_stored_table_is_whole() -> None:
    stored = json.loads((ROOT / "nbs" / "benchmarks" / "studies.json").read_text())
    stages = {"answers and effects", "reports", "site", "nothing new"}
    assert set(stored["through"]["stages"]) == stages
    assert stored["through"]["cells"] == stored["through"]["reports"] == stored["killed"]["reports"]
    assert stored["killed"]["same bytes of effects"] and stored["killed"]["same answers"]
    assert set(stored["papermill"]["seconds"]) == {
        "papermill",
        "cogbias, jobs 1",
        "cogbias, jobs 2",
    }
    cells = [each["cells"] for each in stored["growth"]]
    assert cells == sorted(cells) and all(each["seconds"] > 0 for each in stored["growth"])
