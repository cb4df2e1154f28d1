"The published answers of bAIs (2026): what comes in, the wording, and the published tables."

import hashlib
import json
import re
import sys
import shutil
from functools import cache
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from typer.testing import CliRunner

from cogbias.cli import app
from cogbias.folder import Folder, items, readings, requests, trials
from cogbias.running.cells import effects_of
from cogbias.tables import shipped

HERE = Path(__file__).parents[1]
sys.path.insert(0, str(HERE / "docs"))
import bais  # noqa: E402

SHIPPED = shipped("data", "published", "bais.parquet")
ARCHIVE = HERE.parent / "shared" / "data" / "published_answers" / "bais_2026.tar.xz"
WORDINGS = bais.WORDINGS
NO_BASELINE = 100.0  # what the published code takes where a model has no unanchored number
PRINTED_BASELINES = {
    "o4-mini": (35.7, 4.7),
    "o3": (33.7, 5.6),
    "glm-5": (31.9, 5.7),
    "gpt-5-2": (31.8, 5.7),
    "kimi-k2-5": (30.6, 7.4),
    "deepseek-v3-2": (29.6, 8.0),
    "claude-haiku-4-5": (29.1, 11.2),
    "gpt-4-1": (25.1, 3.4),
    "claude-sonnet-4-6": (24.1, 1.3),
    "claude-opus-4-6": (18.0, 0.0),
}  # mean and standard deviation in months
PRINTED_DISTANCES = {
    "salary": (1735, (29.1, 22.1, 22.6, 17.7, 22.2)),
    "loan": (1591, (59.7, 52.8, 53.1, 50.8, 55.0)),
    "medical": (1482, (21.2, 15.3, 13.8, 11.1, 22.7)),
    "dui": (1328, (19.3, 24.4, 27.0, 20.6, 22.8)),
    "fraud": (1351, (44.7, 58.6, 47.6, 49.1, 48.9)),
    "aggravated-theft": (1134, (23.5, 30.7, 25.9, 25.7, 28.0)),
}  # domain -> its size, and the mean absolute deviation of each arm in percent
ARMS = ("none", "devils-advocate", "premortem", "random-control", "sacd")


@cache
def told():
    "Every answer that ships, with the stored number and what is known of its prompt."
    items = pd.read_parquet(SHIPPED.with_name("bais_items.parquet"))
    known = items[["item_id", "script", "content_set", "condition"]]
    names = {"content_set": "vignette", "published_value": "stored"}
    return pd.read_parquet(SHIPPED).merge(known, on="item_id").rename(columns=names)


def test_the_printed_baselines_are_those_of_the_answers():
    mine = told()[(told()["script"] == "sentencing") & (told()["condition"] == "none")]
    numbers = mine.groupby("model")["stored"]
    for model, printed in PRINTED_BASELINES.items():
        assert numbers.mean()[model] == pytest.approx(printed[0], abs=0.0501), model
        assert numbers.std(ddof=0)[model] == pytest.approx(printed[1], abs=0.0501), model
    assert len(mine) == 909


def test_the_printed_table_of_domains_is_that_of_the_stored_numbers():
    for vignette, (size, printed) in PRINTED_DISTANCES.items():
        mine = told()[(told()["vignette"] == vignette) & told()["stored"].notna()]
        bare = mine[mine["condition"] == "none"].groupby("model")["stored"].mean()
        anchored = mine[mine["condition"] != "none"]
        base = anchored["model"].map(bare).fillna(NO_BASELINE)
        apart = 100 * (anchored["stored"].astype(float) / base - 1).abs()
        found = apart.groupby(anchored["arm"]).mean().reindex(ARMS)
        assert len(mine) == size and found.round(1).tolist() == pytest.approx(printed), vignette


FILLED = re.compile(  # what the scripts fill in
    r"\{anchor\}|\n|sentencing (?:decision|recommendation)|decision|sentence\b|Lena M\.|James T\."
    r"|Diana R\.|Kelly P\.|(?:months )?(?:on|of|in) (?:probation|jail time|jail)|\$"
    r"|(?:k|months) figure|/100(?: figure)?"
)


def fragments(text):
    "The parts of a wording that stand as they are in a script."
    return [part.strip(" -") for part in FILLED.split(text) if len(part.strip(" -")) > 12]


@pytest.mark.skipif(not ARCHIVE.exists(), reason="the published answers are not here")
def test_wording_and_answers_are_those_of_the_repository(tmp_path):
    "The hash in the records of sentences is that of the prompts; the others stand in the scripts."
    shutil.unpack_archive(ARCHIVE, tmp_path)
    turns = WORDINGS["sentencing"]["sentencing"]["turns"]
    hashes = {}
    for arm, asked in turns.items():
        text = "|||".join(asked).replace("{anchor}", "ANCHOR")
        hashes[arm] = hashlib.sha256(text.encode()).hexdigest()[:8]
    by_name = {"baseline": "none", "low-anchor": "anchored", "full-sacd": "sacd"}
    answers = 0
    for file in tmp_path.rglob("*.jsonl"):
        for record in map(json.loads, filter(str.strip, file.read_text().splitlines())):
            arm = by_name.get(record.get("experimentId"), record.get("experimentId"))
            if "promptHash" in record and arm in hashes:
                answers += record["promptHash"] == hashes[arm]
    assert answers == 909 + 909 + 2397 + 2174 + 2188 + 2242 + 2429  # one of another has its own
    scripts = "".join(each.read_text() for each in tmp_path.rglob("*.ts"))
    scripts = scripts.replace("\\'", "'").replace('\\"', '"').replace("\\n", "\n")
    for script in ("vignettes", "haiku"):
        for wording in WORDINGS[script].values():
            for asked in wording["turns"].values():
                for each in (part for text in asked for part in fragments(text)):
                    assert each in scripts, each
    every = list(bais.records(tmp_path))
    kept = [each for each in every if each]
    bais.answer_rows(kept, bais.items_of(kept)[1]).to_parquet(tmp_path / "made.parquet")
    assert len(every) == 25_937
    made = pd.read_parquet(tmp_path / "made.parquet")
    pd.testing.assert_frame_equal(made, pd.read_parquet(SHIPPED))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    "Salaries without intervention, and under a control and a debiasing prompt."
    out = tmp_path_factory.mktemp("bais") / "out"
    asked = ["import", "bais", str(SHIPPED), "--out", str(out), "--where", "content_set=salary"]
    asked += [f"--where=arm={arm}" for arm in ("none", "random-control")]
    said = CliRunner().invoke(app, asked)
    assert said.exit_code == 0 and "821 records" in said.output, said.output
    return out


@pytest.mark.slow  # every day published answers of another archive are imported
def test_both_readings_and_the_wording_lie_beside_the_answers(folder):
    with Folder(folder) as opened:
        found = requests(opened)
        haiku = next(each for each in found if each.participant == "claude-haiku-4-5")
        mine = trials(opened, [haiku]).merge(
            readings(opened, haiku), on="trial_id", suffixes=("", "_stored")
        )
        prompts = items(opened, haiku)["prompt"]
    assert len(found) == 10
    assert prompts.str.contains("previous salary was $165k per year", regex=False).any()
    high = mine[mine["condition"] == "high"]
    declined = high[(high["status"] == "refusal") & (high["value_stored"] == 165)]
    assert len(declined) == 6 and declined["response"].str.startswith("I appreciate").all()


@pytest.mark.slow
def test_an_index_has_an_interval_for_these_prompts_and_bounds_of_its_refusals(folder):
    rows = effects_of(folder)
    mine = rows[(rows["participant"] == "claude-sonnet-4-6") & (rows["group"] == "all")]
    index = mine[mine["measure"] == "anchor_shift"].set_index("target")
    low, high = (
        mine.loc[mine["measure"] == f"anchor_shift_{end}", "estimate"].item()
        for end in ("lower", "upper")
    )
    assert low < index.loc["S", "estimate"] == index.loc["F", "estimate"] < high
    assert index.loc["F", "ci_low"] < index.loc["F", "estimate"] < index.loc["F", "ci_high"]


def test_the_finding_on_the_front_page_is_the_one_that_the_page_computes():
    page = nbformat.read(HERE / "nbs" / "published" / "bais.ipynb", as_version=4)
    (told,) = page.cells[-1].outputs
    assert told["data"]["text/markdown"] in (HERE / "README.md").read_text(encoding="utf-8")
