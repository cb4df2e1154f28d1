"""A target that is another option under treatment: an effect from nothing, and who is told."""

import pandas as pd
import pytest
from typer.testing import CliRunner

import cogbias as cb
from cogbias.cli import app

SAYS = "under treatment, the target is a different one of the same options in"


pytestmark = pytest.mark.usefixtures("forgotten")


def hues(how):
    "Twelve wordings whose target moves in all of them, in one of them, in one place, or nowhere."
    rows = []
    for number in range(12):
        for condition in ("control", "treatment"):
            treated = condition == "treatment"
            options, target = ["red", "blue"], "blue"
            if treated and (how == "everywhere" or how == "once" and number == 3):
                target = "red"
            if how == "columns":
                options, target = options[::-1] if treated else options, "B"
            prompt = f"Hue {number}: {'Now' if treated else 'So'}, which one?"
            rows.append((f"hue_{number}", condition, prompt, *options, target))
    columns = ["wording", "condition", "prompt", "option_a", "option_b", "target"]
    return pd.DataFrame(rows, columns=columns)


def declared(folder, how):
    "The same as a file beside its table."
    hues(how).to_csv(folder / "hues.csv", index=False)
    place = folder / "hue.toml"
    place.write_text(
        'title = "Hues"\nbias = "hue effect"\nsummary = "S."\nnorm = "N."\npositive = "blue"\n'
        'conditions.control = "c"\nconditions.treatment = "t"\nwordings = "hues.csv"\n'
    )
    return place


@pytest.mark.parametrize(("how", "count"), [("everywhere", 12), ("once", 1), ("columns", 12)])
def test_a_target_that_moves_is_told_by_check_run_and_report(tmp_path, how, count, monkeypatch):
    monkeypatch.setattr("cogbias.running.rendering.IMPORTED", ())  # reports in this process
    place, told = declared(tmp_path, how), f"{SAYS} {count} of 12 wordings"
    checked = CliRunner().invoke(app, ["check", str(place)]).output
    assert f"note: {told}" in checked and "No problems found" not in checked
    out = tmp_path / "out"
    settings = {"outputs": out, "name": "blue", "progress": False, "reports": how == "once"}
    found = cb.run(lambda prompt: "blue", place, **settings)
    assert any(told in line for line in found.said)
    if how == "once":
        assert told[1:] in found.reports[0].read_text()
    again = ["run", "--model", "sim/human", "--paradigm", str(place), "--no-reports"]
    assert told in CliRunner().invoke(app, [*again, "--outputs", str(out)]).output
