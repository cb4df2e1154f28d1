"A folder of many cells: each file is read once, and nobody's numbers depend on who stands beside."

from __future__ import annotations

from collections import Counter

import pandas as pd
import pytest

from cogbias import tables, trials
from cogbias.cli import main
from cogbias.design import paradigm
from cogbias.effects import estimate_effects, shown_limits
from cogbias.outputs import Folder, read_cell, stored_cells
from cogbias.running import effects_of, run_study
from cogbias.study import make_study

MODELS = ("sim/position", "sim/messy", "sim/human", "sim/rational")
NUMBERS = ["estimate", "se", "df", "ci_low", "ci_high", "p_value"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    "Four participants in two paradigms, one of them with numbers."
    place = tmp_path_factory.mktemp("many")
    study = make_study(
        models=list(MODELS),
        paradigms=["classic/framing", "classic/endowment"],
        settings={"classic/*": {"contents": "published"}},
    )
    assert run_study(study, place, reports=False).failed == []
    return place


@pytest.mark.parametrize(
    "command", [["effects"], ["export", "csv"], ["compare"]], ids=lambda words: words[0]
)
def test_a_command_reads_each_file_once(command, folder, monkeypatch, tmp_path):
    opened = Counter()

    def counted(module, name):
        read = getattr(module, name)

        def reading(path, *more):
            opened[path.relative_to(folder).as_posix()] += 1
            return read(path, *more)

        monkeypatch.setattr(module, name, reading)

    counted(trials, "_split_lines")
    counted(tables, "_read_file")
    out = ["--out", str(tmp_path / "table.csv")]
    monkeypatch.setattr("sys.argv", ["cogbias", *command, str(folder), *out])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    read = {name: count for name, count in opened.items() if name != "effects.parquet"}
    assert len(read) == 2 + 2 * len(MODELS)
    assert set(read.values()) == {1}, read


@pytest.mark.slow
def test_effects_together_are_those_of_each_alone(folder):
    alone = []
    for cell in stored_cells(Folder(folder)):
        items, mine = read_cell(Folder(folder), *cell)
        alone.append(estimate_effects(mine, items, paradigm(items["paradigm"].iloc[0])))
    alone = shown_limits(pd.concat(alone, ignore_index=True))
    for jobs in (1, 2):
        together = effects_of(folder, save=False, jobs=jobs)
        named = ["participant", "paradigm", "measure", "group", "method", "status"]
        assert together[named].values.tolist() == alone[named].values.tolist()
        for name in NUMBERS:
            pd.testing.assert_series_equal(
                together[name].astype(float), alone[name].astype(float), rtol=1e-12, atol=1e-12
            )


def test_the_order_of_participants_does_not_matter(folder):
    items = paradigm("classic/framing").items(contents="published")
    parts = [read_cell(Folder(folder), *cell)[1] for cell in stored_cells(Folder(folder))]
    parts = [each for each in parts if each["paradigm"].iloc[0] == "classic/framing"]
    tables = [
        estimate_effects(pd.concat(order), items, paradigm("classic/framing"))
        for order in (parts, parts[::-1])
    ]
    pd.testing.assert_frame_equal(*tables)
