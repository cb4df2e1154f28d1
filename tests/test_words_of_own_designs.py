"""What is said of a design of one's own when it changes, and when its words are unusual."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import cogbias as cb
from cogbias.cli import app
from cogbias.kits.file import paradigm_from_file, paradigm_of_files
from cogbias.skeletons import write_skeleton
from cogbias.tables import CogbiasError

HEAD = """\
title = "Ages"
bias = "age effect"
summary = "S."
norm = "N."
positive = "ages are larger"
wordings = "ages.csv"
conditions.control = "c"
conditions.treatment = "t"
number.unit = "years"
number.bias = "higher"
question.control = "How many years old is {person}?"
question.treatment = "He is not 9. How many years old is {person}?"
"""
TABLE = "wording,person\n" + "".join(f"w{number},person {number}\n" for number in range(12))


pytestmark = pytest.mark.usefixtures("forgotten")


def ages(folder: Path, text: str = HEAD) -> Path:
    "A declaration beside its table."
    (folder / "ages.csv").write_text(TABLE)
    place = folder / "ages.toml"
    place.write_text(text)
    return place


def said(*arguments: object) -> str:
    "What a command prints, on both streams."
    return CliRunner().invoke(app, [str(each) for each in arguments]).output


def test_another_direction_shows_the_effect_anew_and_no_verdict_is_called_so(
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    asked = ("run", "--model", "sim/human", "--paradigm", ages(tmp_path), "--outputs", out)
    first = said(*asked, "--no-reports")
    assert "no verdict" in first and " none" not in first
    place = ages(tmp_path, HEAD.replace('bias = "higher"', 'bias = "lower"'))
    second = said(*asked, "--no-reports")
    why = "no verdict: no smallest effect of interest is declared for the unit 'years' (own/ages)"
    assert [line for line in second.splitlines() if "years" in line] == [why]
    assert "nothing new: 1 cells" not in second
    assert "0 asked" in second and "no verdict" in second and "declared otherwise" in second
    found = cb.run("sim/human", place, outputs=out, reports=False, progress=False)
    assert "<td>no verdict</td>" in found._repr_html_() and set(found.headlines["verdict"]) == {
        "none"  # what is stored stays
    }


def test_who_returns_to_an_earlier_version_is_told_what_is_used_again(tmp_path: Path) -> None:
    settings = {"outputs": tmp_path / "out", "reports": False, "progress": False}
    cb.run("sim/human", ages(tmp_path), **settings)
    cb.run("sim/human", ages(tmp_path, HEAD.replace("not 9", "not 8")), **settings)
    back = cb.run("sim/human", ages(tmp_path), **settings)
    (line,) = [each for each in back.said if "declared otherwise" in each]
    assert "0 of its 24 prompts are new; 12 were asked in an earlier version" in line
    assert back.cells[0]["asked"] == 0


@pytest.mark.slow
def test_a_report_on_a_changed_declaration_says_so(tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = cb.run("sim/human", ages(tmp_path), outputs=out, progress=False)
    caveat = "is another than when these answers were asked"
    assert caveat not in found.reports[0].read_text()
    kept = out / "paradigms" / "own-ages" / "ages.toml"
    kept.write_text(kept.read_text().replace("ages are larger", "ages are wonderful"))
    told = said("report", out)
    assert "paradigms/own-ages: the declaration or its table is not as the run left it" in told
    assert caveat in found.reports[0].read_text()


@pytest.mark.parametrize(
    "person",
    ["می\u200cروم", "क्\u200dष", "\U0001f468\u200d\U0001f469", "\u2764\ufe0f\u200d\U0001f525"],
)
def test_joiners_stand_within_words_and_emoji(person: str) -> None:
    files = {"ages.toml": HEAD, "ages.csv": TABLE.replace("person 3", person)}
    assert paradigm_of_files(files).items()["prompt"].str.contains(person).sum() == 2
    told = paradigm_of_files({**files, "ages.toml": HEAD.replace("Ages", person)})
    assert told.title == person


@pytest.mark.parametrize("odd", ["a\u202eb", "a\u200d", "\u200cb", "a \u200d b", "a\u200d\u200db"])
def test_signs_that_hide_or_turn_are_refused(odd: str) -> None:
    with pytest.raises(CogbiasError, match="cannot be printed"):
        paradigm_of_files({"ages.toml": HEAD.replace("is {person}", odd), "ages.csv": TABLE})


def test_the_draft_and_the_check_name_the_same_counts(tmp_path: Path) -> None:
    draft = write_skeleton("mine", folder=tmp_path)[0].read_text()
    assert "six at least (ten where a\n# number is asked for)" in draft
    assert "[analysis.smallest]" in draft and '"no verdict"' in draft
    few = "".join(TABLE.splitlines(keepends=True)[:7])
    (tmp_path / "ages.csv").write_text(few)
    (tmp_path / "ages.toml").write_text(HEAD)
    assert "write 10 wordings at least" in said("check", tmp_path / "ages.toml")


def test_the_middle_of_three_options_is_called_so() -> None:
    text = HEAD.replace('number.unit = "years"\nnumber.bias = "higher"\n', "").replace(
        "conditions.control",
        'options = ["red", "blue", "green"]\ntarget = "blue"\nconditions.control',
    )
    made = paradigm_of_files({"ages.toml": text, "ages.csv": TABLE})
    from cogbias.checking_designs import check_design

    (found,) = [each for each in check_design(made).findings if each.code == "one_position"]
    assert "always stands in place 2" in found.said
    assert found.remedy.startswith("the middle stays the middle in both orders")


SMALL = "number.smallest = {}\n"


def test_a_smallest_effect_of_a_unit_of_ones_own_gives_a_verdict(tmp_path: Path) -> None:
    place, out = ages(tmp_path, HEAD + SMALL.format(5)), tmp_path / "out"
    found = cb.run("sim/human", place, outputs=out, reports=False, progress=False)
    (row,) = found.headlines.to_dict("records")
    assert (row["smallest"], row["verdict"]) == (5, "present")
    assert "smallest effect of interest, as declared: 5 years" in said("check", place)
    planned = cb.plan("sim/human", place, outputs=out).power  # the spread is known by now
    assert planned["smallest"].tolist() == [5]
    large = ages(tmp_path, HEAD + SMALL.format(500))
    found = cb.run("sim/human", large, outputs=out, reports=False, progress=False)
    (row,) = found.headlines.to_dict("records")
    assert row["smallest"] == 500 and row["verdict"] not in ("present", "none")


@pytest.mark.parametrize("size", ["0", "-5", '"5"', "nan"])
def test_a_smallest_effect_that_is_none_is_refused(size: str, tmp_path: Path) -> None:
    with pytest.raises(CogbiasError, match="ages.toml, line 13, column 1: number.smallest: "):
        paradigm_from_file(ages(tmp_path, HEAD + SMALL.format(size)))
