"The published distributions of Anchoring-LLMs (2025): every printed expected value, exact answers."

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from cogbias.cli import app
from cogbias.exchange.anchoring_llms import scored
from cogbias.running.cells import effects_of
from cogbias.tables import shipped

HERE = Path(__file__).parents[1]
SHIPPED = shipped("data", "published", "anchoring_llms.zip")
ARCHIVE = HERE.parent / "shared" / "data" / "published_answers" / "anchoring_llms_2025.tar.xz"


def expected(p: dict[str, float]) -> float:
    "The expected value of a distribution over percentages."
    return sum(float(label[:-1]) * share for label, share in p.items()) / sum(p.values())


def test_every_printed_expected_value_is_that_of_a_distribution() -> None:
    mine = {(each.model, each.wording, each.anchor): expected(each.p) for each in scored(SHIPPED)}
    compared = 0
    with zipfile.ZipFile(SHIPPED) as archive:
        for name in archive.namelist():
            if "_summary_" not in name:
                continue
            model = name.partition("_statistical")[0].removeprefix("anchoring_").split("_")[-1]
            for row in pd.read_csv(archive.open(name)).to_dict("records"):
                if row["VariationID"] == 0 and "different" in name:
                    continue  # the same question once more, on another machine
                for side in "12":
                    asked = model, f"wording {row['VariationID']}", float(row[f"Anchor{side}"])
                    assert mine[asked] == pytest.approx(row[f"EV{side}"], abs=1e-9), asked
                    compared += 1
    assert compared == len(mine) == 132


@pytest.mark.skipif(not ARCHIVE.exists(), reason="the published distributions are not here")
def test_the_shipped_log_probabilities_are_the_published_ones() -> None:
    columns = ["VariationID", "Anchor", "TargetInt", "LogProbFullPrompt"]
    files = 0
    with tarfile.open(fileobj=io.BytesIO(ARCHIVE.read_bytes())) as there:
        with zipfile.ZipFile(SHIPPED) as here:
            for member in there:
                name = Path(member.name).name
                if "_results_" in name:
                    published = pd.read_csv(there.extractfile(member))[columns]
                    pd.testing.assert_frame_equal(published, pd.read_csv(here.open(name)))
                    files += 1
    assert files == 12


def test_wordings_are_clusters_and_over_them_nothing_is_sampled(tmp_path: Path) -> None:
    asked = ["import", "anchoring-llms", str(SHIPPED), "--out", str(tmp_path / "out")]
    said = CliRunner().invoke(app, [*asked, "--where", "anchors=published"])
    assert said.exit_code == 0 and "answers 72" in said.output, said.output
    rows = effects_of(tmp_path / "out")
    index = rows[(rows["measure"] == "anchor_shift") & (rows["group"] == "all")]
    assert set(index["target"]) == {"F", "S"} and (index["n_clusters"] == 6).all()
    these = index[index["target"] == "F"]
    assert these["detail"].str.contains("nothing was sampled").all()
