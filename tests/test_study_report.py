"The report on a whole study, made through the command line, also when little can be said."

from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
import pytest
from typer.testing import CliRunner

from cogbias.cli import app

MODELS = ("sim/human", "sim/rational", "sim/mirror", "sim/noisy_rational")


def words(path: Path) -> str:
    "Everything that a reader of a notebook sees as text."
    cells = nbformat.read(path, 4).cells
    outputs = [output for cell in cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    shown = [
        output.get("text", "")
        or "".join(output.get("data", {}).get(kind, "") for kind in ("text/markdown", "text/html"))
        for output in outputs
    ]
    return "\n".join([cell.source for cell in cells if cell.cell_type == "markdown"] + shown)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    "Four simulated participants in three paradigms at two temperatures."
    place = tmp_path_factory.mktemp("study")
    arguments = [
        "run",
        *(part for model in MODELS for part in ("--model", model)),
        "--paradigm",
        "classic/anchoring",
        "--paradigm",
        "classic/loss_aversion",
        "--paradigm",
        "classic/sunk_cost",
        "--temperature",
        "0.5",
        "--temperature",
        "1",
        "--outputs",
        str(place),
        "--no-reports",
    ]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    from cogbias.rendering import render_study_report

    assert render_study_report(place) == []
    return place


def test_it_says_who_is_not_real_and_what_was_found(folder):
    text = words(folder / "reports" / "study.ipynb")
    assert "Simulated, with planted effects" in text and "8 participants in 3 paradigms" in text
    for verdict in ("present", "reversed", "absent"):
        assert verdict in text
    assert "temperature" in text.lower() and "Cliff" in text and "separated" in text.lower()
    assert "nothing about them is explained" in text  # no model here is in the table of facts
    # three paradigms and four models are too few to be looked at together
    assert "beyond noise" not in text and "Biases that go together" not in text


def test_families_and_verdicts_are_in_the_table(folder):
    import pandas as pd

    effects = pd.read_parquet(folder / "effects.parquet")
    heads = effects[effects["verdict"].notna()]
    assert (
        len(heads) == 8 * 3
        and heads["family"].str.contains("headline").all()
        and (heads["smallest"] > 0).all()
    )
    tested = heads[heads["p_value"].notna()]
    assert (tested["p_adjusted"] >= tested["p_value"] - 1e-12).all()


def test_nothing_is_missing_without_a_status(folder):
    import pandas as pd

    effects = pd.read_parquet(folder / "effects.parquet")
    assert not (effects["estimate"].isna() & (effects["status"] == "ok")).any()
    assert (
        effects["detail"].notna()
        | (effects["status"] == "ok")
        | effects["measure"].str.contains("position|consistency|primacy")
    ).all()


def test_the_analysis_is_declared_in_the_study(tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(
        'models = ["sim/human"]\nparadigms = ["classic/sunk_cost"]\n[analysis]\nfamly = "study"\n'
    )
    result = CliRunner().invoke(
        app, ["run", str(study), "--outputs", str(tmp_path / "out"), "--no-reports"]
    )
    assert result.exit_code != 0 and "did you mean 'family'" in str(result.exception)
    study.write_text(
        study.read_text().replace("famly", "family") + "[analysis.smallest]\nprobability = 0.9\n"
    )
    result = CliRunner().invoke(
        app, ["run", str(study), "--outputs", str(tmp_path / "out"), "--no-reports"]
    )
    assert result.exit_code == 0, result.output
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["study"]["analysis"]["family"] == "study"
    import pandas as pd

    head = pd.read_parquet(tmp_path / "out" / "effects.parquet").iloc[0]
    assert head["smallest"] == 0.9 and head["verdict"] == "absent"


@pytest.mark.slow
def test_a_page_of_the_site(folder, monkeypatch):
    from cogbias.site import pages as site
    from cogbias.rendering import render_reports

    monkeypatch.setattr(site, "repository_notebooks", lambda: None)  # the library is not looked at
    # the site needs a report of a cell
    failed, made = render_reports(folder, only=[("sim/human temperature=1.0", "classic/anchoring")])
    assert not failed and made
    index = site.build_site(folder)
    page = (Path(index).parent / "results" / "study.html").read_text()
    assert "Who shows what" in page and not re.search(r"<script[^>]*>alert", page)
    assert "study.html" in (Path(index).parent / "results" / "index.html").read_text()


def test_few_answers_stop_neither_the_report_nor_what_status_says_of_it(tmp_path):
    "Effects that rest on four answers have no sampling variance; the row counts them."
    asked = ["--model", "sim/messy", "--model", "sim/human", "--repeats", "2"]
    asked += ["--paradigm", "classic/framing", "--paradigm", "classic/category_size"]
    asked += ["--where", "content_set=play", "--where", "content_set=drum"]
    run = ["run", *asked, "--outputs", str(tmp_path), "--no-reports"]
    assert CliRunner().invoke(app, run).exit_code == 0
    from cogbias.rendering import render_study_report

    def said_of_it() -> str:
        done = CliRunner().invoke(app, ["status", str(tmp_path)])
        lines = [line for line in done.stdout.splitlines() if "report on the study" in line]
        return "".join(lines).removeprefix("report on the study: ")

    place = tmp_path / "reports" / "study.ipynb"
    assert said_of_it() == "missing"
    assert render_study_report(tmp_path) == []
    assert "left out, of fewer than 3 answers per group" in words(place)
    assert said_of_it() == "current"
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    later = manifest | {"failed": ["sim/human in classic/framing: 1 answers are missing"]}
    (tmp_path / "manifest.json").write_text(json.dumps(later))
    assert said_of_it() == "stale"
    later = manifest | {"failed": ["report of the study: it stopped"]}
    (tmp_path / "manifest.json").write_text(json.dumps(later))
    assert said_of_it() == "failed"
    place.rename(place.with_name("study.running.ipynb"))
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert said_of_it() == "stopped"
