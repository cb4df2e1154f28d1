"Staging a site grows in line with its cells: each page is written once."

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from cogbias.site import pages as site
from cogbias.running import run_study
from cogbias.study import make_study

MODELS = ["sim/human", "sim/random", "sim/rational"]
PARADIGMS = ["classic/framing", "classic/endowment"]


def stand_in(place: Path) -> None:
    "A report of nothing; what is in it does not matter here."
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')


def test_each_page_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study(
        models=MODELS, paradigms=PARADIGMS, settings={"classic/*": {"contents": "published"}}
    )
    outputs = tmp_path / "outputs"
    assert run_study(study, outputs, reports=False).failed == []
    for trials in outputs.glob("trials/*/*.jsonl"):
        stand_in(outputs / "reports" / trials.parent.name / f"{trials.stem}.ipynb")
    written: Counter[str] = Counter()
    monkeypatch.setattr(
        site,
        "write_page",
        lambda path, text: written.update(
            [path.name if path.parent.name == "paradigms" else str(path)]
        ),
    )
    results = site.Results(outputs)
    assert len(results.reports) == len(MODELS) * len(PARADIGMS)
    site.stage_results(results, tmp_path / "stage", site.Layout())
    assert set(written.values()) == {1}, written
    assert len(written) == len(results.reports) + len(MODELS) + len(PARADIGMS) + 1
    assert results.href("classic/framing", "sim/human").endswith("/classic-framing.html")
    assert results.href("classic/framing", "nobody") is None
