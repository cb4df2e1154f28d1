"Who was asked other prompts than the rest keeps them: nobody's number changes with another's run."

from __future__ import annotations

import html
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from calls import command, refused
from test_site_pages import stand_in
from tiers import every_few

import cogbias as cb
import cogbias.outputs as outputs
from cogbias.cells import stored_cell
from cogbias.compare import compare
from cogbias.outputs import Folder, asked_apart, left_out, people_of, read_manifest
from cogbias.reporting.study import opening_notes
from cogbias.running import estimate_folder, run_study
from cogbias.site.pages import stage_site
from cogbias.status import folder_status
from cogbias.study import make_study
from cogbias.tables import ITEMS, load_table, save_table
from cogbias.verification import verified_lines, verify_folder

NAME, SHARED = "choice/certainty", "items/choice-certainty.parquet"
OWN = "items/sim-human/choice-certainty.parquet"
PART = {"template": (1,)}
FEW = {"design": ("common_ratio",)}  # what whole means below: fewer prompts, quicker tests


def run(folder: Path, *models: str, **settings: object) -> None:
    "Ask, estimate, write; everything must be there afterwards."
    told = {"where": FEW} | settings
    if "items_file" in told or "settings" in told:
        told["where"] = settings.get("where", {})
    study = make_study(models=list(models), paradigms=[NAME], **told)
    outcome = run_study(study, folder, reports=False)
    assert not outcome.failed, outcome.failed


def lists(folder: Path) -> list[str]:
    "The files of items in a folder."
    return sorted(
        each.relative_to(folder).as_posix() for each in folder.rglob("items/**/*.parquet")
    )


def headline(effects: pd.DataFrame, who: str) -> float:
    "The headline of somebody in an effects table."
    return float(effects[effects["participant"] == who]["estimate"].iloc[0])


def alone(tmp_path: Path, model: str, **settings: object) -> float:
    "The headline of somebody who has a folder of its own."
    place = tmp_path / f"alone-{len(list(tmp_path.iterdir()))}"
    run(place, model, **settings)
    return headline(pd.read_csv(place / "effects.csv"), model)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    "Two were asked everything, and one of them a part of it later."
    place = tmp_path / "S"
    run(place, "sim/messy", "sim/human")
    run(place, "sim/human", where=FEW | PART)
    return place


def test_each_number_is_of_what_its_participant_was_asked_last(
    folder: Path, tmp_path: Path
) -> None:
    expected = {
        "sim/messy": alone(tmp_path, "sim/messy"),
        "sim/human": alone(tmp_path, "sim/human", where=FEW | PART),
    }
    assert expected["sim/human"] != alone(tmp_path, "sim/human")  # the part says something else
    found = {
        "effects.csv": pd.read_csv(folder / "effects.csv"),
        "made again": estimate_folder(folder, save=False).effects,
        "in processes": estimate_folder(folder, save=False, jobs=2).effects,
        "cb.effects": cb.effects(folder),
    }
    for where, effects in found.items():
        told = {who: headline(effects, who) for who in expected}
        assert told == pytest.approx(expected, abs=1e-12), where
    for who, value in expected.items():  # what a report shows
        assert stored_cell(folder, who, NAME).effects["estimate"].iloc[0] == pytest.approx(value)
    assert [line for line in left_out(folder) if "sim-messy" in line] == []


def test_status_verify_and_cells_count_all_answers(folder: Path) -> None:
    cells = folder_status(folder).cells.set_index("participant")
    asked = {who: len(stored_cell(folder, who, NAME).items) for who in cells.index}
    assert asked["sim/messy"] == 3 * asked["sim/human"]
    for who, prompts in asked.items():
        assert (cells.loc[who, "state"], cells.loc[who, "answers"]) == ("done", prompts)
    found = verify_folder(folder)
    assert found.follows and all(each.as_left for each in found.sources)
    assert {each.participant: each.answers for each in found.sources} == asked


def test_a_comparison_rests_on_what_all_were_asked_and_says_so(
    folder: Path, tmp_path: Path
) -> None:
    ranks = compare(folder).ranks.set_index("participant")
    of_messy = ranks.loc["sim/messy"]
    assert of_messy["estimate"] == alone(tmp_path, "sim/messy", where=FEW | PART)
    assert "prompts that all were asked" in of_messy["detail"]
    whole = headline(pd.read_csv(folder / "effects.csv"), "sim/messy")
    assert of_messy["detail"].endswith(f"{whole:+.3f} over all that it was asked")


def test_other_seeds_and_settings_are_other_items(tmp_path: Path) -> None:
    for number, other in enumerate(({"seed": 1}, {"settings": {NAME: {"source": "fresh"}}})):
        place = tmp_path / f"S{number}"
        run(place, "sim/messy", "sim/human")
        before = headline(pd.read_csv(place / "effects.csv"), "sim/messy")
        run(place, "sim/human", **other)
        effects = pd.read_csv(place / "effects.csv")
        assert headline(effects, "sim/messy") == before
        assert headline(effects, "sim/human") == alone(tmp_path, "sim/human", **other)
        assert verify_folder(place).follows


def test_a_list_from_a_file(tmp_path: Path) -> None:
    items = cb.items(NAME)
    file = save_table(items[items["design"] == "common_ratio"].head(100), tmp_path / "mine.csv")
    place = tmp_path / "S"
    run(place, "sim/messy", "sim/human")
    before = headline(pd.read_csv(place / "effects.csv"), "sim/messy")
    run(place, "sim/human", items_file=str(file))
    assert headline(pd.read_csv(place / "effects.csv"), "sim/messy") == before
    assert len(stored_cell(place, "sim/human", NAME).items) == 100


def test_a_plain_folder_has_one_list_again_once_all_were_asked_the_same(folder: Path) -> None:
    assert lists(folder) == [SHARED, OWN]
    run(folder, "sim/human")
    assert lists(folder) == [SHARED] and not (folder / OWN).parent.exists()
    run(folder, "sim/messy", "sim/human", seed=1)  # one after the other, to the same end
    assert lists(folder) == [SHARED]
    assert set(load_table(folder / SHARED, ITEMS)["item_id"]) == {
        each for each in cb.items(NAME, seed=1).query("design == 'common_ratio'")["item_id"]
    }


@pytest.mark.slow
def test_runs_at_once_in_one_folder_keep_what_each_asks(tmp_path: Path) -> None:
    "Three processes ask a third of the prompts each; whichever comes first, the others wait."
    place, models = tmp_path / "S", ("sim/messy", "sim/human", "sim/random")
    parts = {model: FEW | {"template": (number,)} for number, model in enumerate(models, 1)}
    runs = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "cogbias", "run", "--model", model),
                *("--paradigm", NAME, "--where", "design=common_ratio", "--no-reports"),
                *("--where", f"template={where['template'][0]}", "--outputs", str(place)),
            ],
            stdout=subprocess.DEVNULL,
        )
        for model, where in parts.items()
    ]
    assert [each.wait() for each in runs] == [0, 0, 0]
    assert len(lists(place)) == 3 and verify_folder(place).follows
    effects = estimate_folder(place, save=False).effects
    for model, where in parts.items():
        assert headline(effects, model) == alone(tmp_path, model, where=where)


class Killed(BaseException):
    "Stands for the end of the process."


@pytest.mark.parametrize("step", every_few(4, range(4)))
def test_a_run_killed_between_any_two_writes_leaves_the_numbers_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    "Both are asked a part, one after the other; the list that is shared changes with the second."
    place = tmp_path / "S"
    run(place, "sim/messy", "sim/human")
    whole = headline(pd.read_csv(place / "effects.csv"), "sim/messy")
    done = []

    def counted(write):  # type: ignore[no-untyped-def]
        def or_killed(*given: object) -> object:
            if len(done) == step:
                raise Killed
            done.append(write)
            return write(*given)

        return or_killed

    for name in ("save_table", "_take_back"):
        monkeypatch.setattr(outputs, name, counted(getattr(outputs, name)))
    try:
        run(place, "sim/human", where=FEW | PART)
        part = headline(pd.read_csv(place / "effects.csv"), "sim/human")
        run(place, "sim/messy", where=FEW | PART)
    except Killed:
        pass
    killed_in_second = "part" in locals()
    monkeypatch.undo()
    effects = estimate_folder(place, save=False).effects
    if killed_in_second:
        assert headline(effects, "sim/human") == part
    else:
        assert headline(effects, "sim/messy") == whole
    run(place, "sim/messy", "sim/human", where=FEW | PART)
    assert lists(place) == [SHARED]
    assert headline(pd.read_csv(place / "effects.csv"), "sim/messy") == alone(
        tmp_path, "sim/messy", where=FEW | PART
    )


def test_a_folder_of_before_is_read_as_it_was(tmp_path: Path) -> None:
    "It held what was asked last of all, whoever was asked: of the other's answers a part counts."
    place = tmp_path / "S"
    run(place, "sim/messy", "sim/human")
    run(place, "sim/human", where=FEW | PART)
    os.replace(place / OWN, place / SHARED)
    (place / OWN).parent.rmdir()
    bytes_before = (place / SHARED).read_bytes()
    (line,) = [each for each in left_out(place) if "sim-messy" in each]
    assert "to items that are not in its items file" in line
    assert headline(estimate_folder(place).effects, "sim/messy") == alone(
        tmp_path, "sim/messy", where=FEW | PART
    )
    assert (place / SHARED).read_bytes() == bytes_before and lists(place) == [SHARED]


def test_verify_sees_a_list_that_was_changed_removed_or_put_there(folder: Path) -> None:
    own, kept = folder / OWN, (folder / OWN).read_bytes()
    other = folder / "items/sim-messy/choice-certainty.parquet"

    def changed() -> list[str]:
        return [each for each in verified_lines(verify_folder(folder)) if "its items" in each]

    assert changed() == []
    save_table(load_table(own, ITEMS).head(90), own)
    assert "sim-human" in changed()[0]
    own.unlink()
    assert "sim-human" in changed()[0]
    own.write_bytes(kept)
    other.parent.mkdir()
    other.write_bytes(kept)
    assert "sim-messy" in changed()[0]


def test_a_hostile_list_is_one_line(folder: Path, tmp_path: Path) -> None:
    own = folder / OWN
    items = load_table(own, ITEMS)
    outside = save_table(items, tmp_path / "outside.parquet")

    def said() -> str:
        return refused(lambda: estimate_folder(folder, save=False))

    own.write_bytes(b"no table")
    assert OWN in said()
    save_table(items.drop(columns="condition"), own)
    assert OWN in said()
    save_table(cb.items("classic/framing"), own)
    assert "does not belong into this file" in said()
    own.unlink()
    own.symlink_to(outside)
    assert "is a link that leads out" in said()
    own.unlink()
    own.mkdir()
    assert OWN in said()
    own.rmdir()
    os.mkfifo(own)
    assert OWN in said()
    own.unlink()
    unknown = items.assign(item_id=[f"x{each}" for each in range(len(items))])
    save_table(unknown, own)
    assert OWN in said()
    for name in ("effects", "status", "verify"):
        assert command(name, folder) in (0, 1, 2)


def test_the_report_on_the_study_says_who_was_asked_other_prompts(folder: Path) -> None:
    assert asked_apart(folder) == {NAME: ["sim/human"]}
    effects, people = pd.read_csv(folder / "effects.csv"), people_of(folder)
    told = opening_notes(effects, people, apart=asked_apart(folder))
    assert f"**Asked other prompts than the others:** in {NAME}, sim/human." in told
    run(folder, "sim/human")
    assert asked_apart(folder) == {}
    assert "other prompts" not in opening_notes(effects, people, apart=asked_apart(folder))


def staged(folder: Path, stage: Path) -> dict[str, str]:
    "The pages of the site of a folder that tell of several participants, as Sphinx will get them."
    stage_site(folder, stage, None)
    names = ("index.md", "results/index.md", "results/paradigms/choice-certainty.md")
    return {name: (stage / name).read_text() for name in names}


def test_the_site_says_in_the_same_words_who_was_asked_other_prompts(
    folder: Path, tmp_path: Path
) -> None:
    for trials in folder.glob("trials/*/choice-certainty.jsonl"):
        stand_in(folder / "reports" / trials.parent.name / "choice-certainty.ipynb")
    effects, people = pd.read_csv(folder / "effects.csv"), people_of(folder)
    told = opening_notes(effects, people, apart=asked_apart(folder)).partition("sim/human. ")[2]
    assert told.startswith("Each number is of what its participant was asked")
    for name, page in staged(folder, tmp_path / "first").items():
        assert "Asked other prompts than the others:" in page, name
        assert f"in The certainty effect, sim/human. {told}" in html.unescape(page), name
    paradigms = (tmp_path / "first" / "results/paradigms/choice-certainty.md").read_text()
    marked = [line for line in paradigms.splitlines() if ">other prompts<" in line]
    assert marked and all("sim/<wbr>human" in line for line in marked)
    run(folder, "sim/human")
    for name, page in staged(folder, tmp_path / "second").items():
        assert "other prompts" not in page, name


def test_the_record_of_each_cell_stays(folder: Path) -> None:
    cells = {each["participant"]: each for each in read_manifest(Folder(folder))["cells"]}
    assert cells["sim/messy"]["where"] == {"design": ["common_ratio"]}
    assert cells["sim/human"]["where"] == {"design": ["common_ratio"], "template": [1]}
