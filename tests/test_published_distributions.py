"The published distributions of Anchoring-LLMs (2025): every printed expected value, exact answers."

import sys
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from cogbias.cli import app
from cogbias.running.cells import effects_of
from cogbias.tables import shipped

HERE = Path(__file__).parents[1]
sys.path.insert(0, str(HERE / "docs"))
import anchoring_llms  # noqa: E402

SHIPPED = shipped("data", "published", "anchoring_llms.parquet")
ARCHIVE = HERE.parent / "shared" / "data" / "published_answers" / "anchoring_llms_2025.tar.xz"


def test_every_printed_expected_value_is_that_of_a_distribution():
    items = pd.read_parquet(SHIPPED.with_name("anchoring_llms_items.parquet"))
    told = pd.read_parquet(SHIPPED).merge(items, on="item_id")
    told["expected"] = [np.arange(101) @ each / sum(each) for each in told["p"]]
    found = told.pivot(
        index=["model", "anchors", "cluster"], columns="condition", values="expected"
    )
    printed = pd.read_csv(SHIPPED.with_name("anchoring_llms_printed.csv"))
    printed["cluster"] = "wording " + printed["VariationID"].astype(str)
    both = printed.set_index(found.index.names).join(found)
    assert len(told) == 132 and len(both) == 66
    assert both["low"].tolist() == pytest.approx(both["EV1"].tolist(), abs=1e-9)
    assert both["high"].tolist() == pytest.approx(both["EV2"].tolist(), abs=1e-9)


@pytest.mark.skipif(not ARCHIVE.exists(), reason="the published distributions are not here")
def test_the_shipped_probabilities_are_the_published_ones(tmp_path):
    shutil.unpack_archive(ARCHIVE, tmp_path)
    made = pd.DataFrame(anchoring_llms.scored(tmp_path)).sort_values("model", kind="stable")
    shipped_ones = pd.read_parquet(SHIPPED)
    assert made["model"].tolist() == shipped_ones["model"].tolist()
    for one, other in zip(made["p"], shipped_ones["p"], strict=True):
        assert one == pytest.approx(other.tolist(), rel=1e-12)  # exp differs in its last bit


def test_wordings_are_clusters_and_over_them_nothing_is_sampled(tmp_path):
    asked = ["import", "anchoring-llms", str(SHIPPED), "--out", str(tmp_path / "out")]
    said = CliRunner().invoke(app, [*asked, "--where", "anchors=published"])
    assert said.exit_code == 0 and "answers 72" in said.output, said.output
    rows = effects_of(tmp_path / "out")
    index = rows[(rows["measure"] == "anchor_shift") & (rows["group"] == "all")]
    assert set(index["target"]) == {"F", "S"} and (index["n_clusters"] == 6).all()
    these = index[index["target"] == "F"]
    assert these["detail"].str.contains("nothing was sampled").all()
