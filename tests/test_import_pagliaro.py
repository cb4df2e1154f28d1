"The published answers of Pagliaro (2026): counts, both readings, every row of the published table."

import csv
import io
import json
import re
import tarfile
from importlib import import_module
from math import isnan, nan
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from cogbias.cli import app
from cogbias.design import paradigm, paradigms
from cogbias.exchange.pagliaro import BIASES, OUTCOMES, import_pagliaro, read_pagliaro
from cogbias.outputs import trials_of
from cogbias.reporting.study import _published_models
from cogbias.stats.susceptibility import Pair, marks_from_the_smallest, susceptibility_index
from cogbias.tables import CogbiasError, shipped

ARCHIVE = (
    Path(__file__).parents[2] / "shared" / "data" / "published_answers" / "pagliaro_2026.tar.gz"
)
pytestmark = pytest.mark.skipif(not ARCHIVE.exists(), reason="the published answers are not here")


@pytest.fixture(scope="module")
def files():
    "Name -> contents of the archive."
    with tarfile.open(ARCHIVE) as archive:
        members = [each for each in archive.getmembers() if each.isfile()]
        return {each.name.removeprefix("./"): archive.extractfile(each).read() for each in members}


SOME = ("anchoring", "decoy_effect")  # one with numbers, one with choices and all strategies


@pytest.fixture(scope="module", params=[SOME, pytest.param(tuple(BIASES), marks=pytest.mark.slow)])
def biases(request):
    "The biases whose answers are imported: two, or all of them."
    return request.param


def of(biases, name):
    "Whether a file of the archive holds answers to one of these biases."
    return name.removeprefix("raw_responses/").startswith(biases)


@pytest.fixture(scope="module")
def imported(biases, files, tmp_path_factory):
    "The archive as a folder, or what it holds of some biases."
    place = tmp_path_factory.mktemp("pagliaro")
    source = ARCHIVE
    if biases == SOME:
        some = {name: data for name, data in files.items() if of(biases, name)}
        some["prompts.json"] = files["prompts.json"]
        source = changed(some, place / "some", "", None)
    return import_pagliaro(source, place / "out"), place / "out"


def test_every_answer_is_there(imported, biases, files):
    found, out = imported
    trials = trials_of(out)
    assert trials["trial_id"].is_unique and set(trials["backend"]) == {"published"}
    assert found.counts["paradigms"] == 11 and trials["paradigm"].nunique() == len(biases)
    assert found.counts["participants"] == trials["participant"].nunique() == 11
    claude = trials[trials["participant"] == "claude-3.5-sonnet"]
    assert set(claude["model"]) == {"claude-sonnet-4-20250514"}
    if biases == SOME:
        told = [json.loads(data) for name, data in files.items() if of(biases, name)]
        sides = ("control_responses", "treatment_responses")
        asked = sum(len(pair[side]) for each in told for pair in each["variants"] for side in sides)
        assert found.counts["answers"] == len(trials) == asked
        return
    assert found.counts["prompts"] == 162 and found.counts["answers"] == len(trials) == 67_300
    odd = found.oddities.groupby("code")["count"].sum()
    assert odd["interval"] == 3_960
    assert (trials["status"] == "error").sum() == 4_206  # one more is among the intervals
    assert {"llama-3.1-8b+D1_cot", "claude-3.5-sonnet"} <= set(trials["participant"])


def test_paradigms_of_published_answers_are_not_asked_by_accident():
    assert not [name for name in paradigms() if name.startswith("published/")]
    assert len(paradigms("published/*")) == len(BIASES) == 11
    with pytest.raises(CogbiasError, match="published elsewhere"):
        paradigm("published/pagliaro_decoy").items()


@pytest.fixture(scope="module")
def estimated(imported, tmp_path_factory):
    "The effects of the whole folder, as the command line gives them."
    place = tmp_path_factory.mktemp("effects") / "table.parquet"
    said = CliRunner().invoke(app, ["effects", str(imported[1]), "--out", str(place)])
    assert said.exit_code == 0, said.output
    return pd.read_parquet(place)


def test_all_rows_of_the_published_table(estimated, biases, files):
    table = list(csv.DictReader(io.StringIO(files["bsi_summary.csv"].decode())))
    table = [row for row in table if row["bias_name"] in biases]
    rows = estimated[estimated["measure"] == "susceptibility"]
    assert rows["replication"].all()
    known = rows.set_index(["participant", "paradigm"])
    p_values = []
    for row in table:
        arm = row["strategy"]
        person = row["model_name"] if arm == "baseline" else f"{row['model_name']}+{arm}"
        found = known.loc[person, f"published/pagliaro_{BIASES[row['bias_name']]}"]
        assert found["estimate"] == pytest.approx(float(row["bsi_mean"]), abs=1e-6)
        assert found["n_clusters"] == int(row["n_variants"])
        sigmas = [float(each) for each in re.findall(r"sigma_\w+ ([\d.]+)", found["detail"])]
        for number, name in zip(sigmas, ("sigma_stat", "sigma_sys", "sigma_tot"), strict=True):
            assert number == pytest.approx(float(row[name]), abs=1e-6)
        assert ("significant yes" in found["detail"]) == (row["significant"] == "True")
        published = float(row["p_value"]) if row["p_value"] else nan
        p_values.append(nan if pd.isna(found["p_value"]) else found["p_value"])
        assert isnan(published) == isnan(p_values[-1])
        assert isnan(published) or p_values[-1] == pytest.approx(published, abs=1e-6)
        assert (p_values[-1] < 0.05) == (row["significant"] == "True")
    assert len(table) == (16 if biases == SOME else 87)
    without = rows[rows["status"] == "insufficient"]
    assert len(rows) - len(without) == len(table)
    if biases == SOME:  # the correction of the paper is over all rows
        return
    marked = marks_from_the_smallest(p_values)
    assert marked.tolist() == [row["significant_bh"] == "True" for row in table]


def test_all_sigmas_to_the_last_digit(files):
    "The stored readings are what the index is computed on, so this needs no import."
    declared = {
        pair.name: pair
        for name in paradigms("published/*")
        for pair in import_module(f"cogbias.paradigms.{name.replace('/', '.')}").PAIRS
    }
    table = list(csv.DictReader(io.StringIO(files["bsi_summary.csv"].decode())))
    for row in table[::4]:
        name = "_".join(row[each] for each in ("bias_name", "model_name", "strategy"))
        pairs = []
        for told in json.loads(files[f"raw_responses/{name}.json"])["variants"]:
            pair = declared[told["variant_id"]]
            read = [told["control_parsed"], told["treatment_parsed"]]
            if not pair.in_index or min(map(len, read)) < 10:
                continue
            if pair.target:
                read = [[float(each == pair.target) for each in side] for side in read]
            pairs.append(Pair(*read, pair.anchor))
        found = susceptibility_index(pairs)
        numbers = [found.value, found.statistical, found.systematic, found.total]
        columns = ("bsi_mean", "sigma_stat", "sigma_sys", "sigma_tot")
        assert numbers == pytest.approx([float(row[each]) for each in columns], abs=1e-9)


@pytest.mark.slow
def test_commands_work_on_the_folder(imported):
    _, out = imported
    runner = CliRunner()
    said = runner.invoke(app, ["effects", str(out)])
    assert said.exit_code == 0 and "published/pagliaro_decoy" in said.output
    people = ["gpt-4.1-mini", "mistral-large"]
    said = runner.invoke(app, ["compare", str(out), *people])
    assert said.exit_code == 0, said.output
    asked = ["run", "--model", "sim/random", "--paradigm", "published/*", "--outputs", str(out)]
    said = runner.invoke(app, asked)
    assert said.exit_code != 0 and "published elsewhere" in said.output


def changed(files: dict, place: Path, name: str, change) -> Path:
    "The archive as a folder, with one file changed."
    for each, data in files.items():
        target = place / each
        target.parent.mkdir(parents=True, exist_ok=True)
        if each == name:
            told = json.loads(data)
            change(told)
            data = json.dumps(told).encode()
        target.write_bytes(data)
    return place


FILE = "raw_responses/framing_effect_gpt-4.1-mini_baseline.json"
FAULTS = {
    "a variant is missing": (FILE, lambda told: told["variants"].pop(), "lacks 'framing_v5'"),
    "a label that no prompt offers": (
        FILE,
        lambda told: told["variants"][0]["control_parsed"].__setitem__(0, "D"),
        "framing_v1: field 'control_parsed' is not what the published code reads",
    ),
    "an option that no prompt offers": (
        "prompts.json",
        lambda told: told["biases"]["framing_effect"]["variants"]["framing_v1"]["options"][
            "control"
        ].append({"label": "D", "text": "something else"}),
        "variant framing_v1: field 'options' offers 'D', a label that is not known",
    ),
    "an option that is no object": (
        "prompts.json",
        lambda told: told["biases"]["framing_effect"]["variants"]["framing_v1"]["options"][
            "control"
        ].append(3),
        "variant framing_v1: field 'options' holds 3, which is no object",
    ),
    "choices in the file of intervals": (
        FILE,
        lambda told: told.__setitem__("bias_name", "overconfidence"),
        "field 'variants' holds 'framing_v1', which is not of overconfidence",
    ),
    "a variant that is a number": (
        FILE,
        lambda told: told.update(bias_name="overconfidence", variants=[3]),
        "field 'variants' holds 3, which is not of overconfidence",
    ),
    "lists of unequal length": (
        FILE,
        lambda told: told["variants"][0]["control_responses"].pop(),
        "differ in length",
    ),
    "another version": (
        "prompts.json",
        lambda told: told.__setitem__("source", "somewhere @0000000"),
        "does not name @a1ffbb7",
    ),
    "another biased letter": (
        "prompts.json",
        lambda told: told["biases"]["framing_effect"]["variants"]["framing_v1"].__setitem__(
            "biased", "A"
        ),
        "variant framing_v1: field 'biased' is 'A'",
    ),
    "an unknown model": (
        FILE,
        lambda told: told.__setitem__("model_name", "somebody"),
        "field 'model_name' is 'somebody'",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_archive_is_refused_whole(files, tmp_path, fault):
    name, change, said = FAULTS[fault]
    some = {each: data for each, data in files.items() if each in (FILE, "prompts.json")}
    folder = changed(some, tmp_path / "in", name, change)
    with pytest.raises(CogbiasError, match=said) as error:
        import_pagliaro(folder, tmp_path / "out")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


INTERVALS = "raw_responses/overconfidence_gpt-4.1-mini_baseline.json"


@pytest.mark.parametrize("twice", [FILE, INTERVALS])
def test_two_files_of_one_model_and_bias_are_refused(files, tmp_path, twice):
    "Also those that are only counted."
    names = FILE, INTERVALS, "prompts.json"
    folder = changed({n: files[n] for n in names}, tmp_path / "in", "", None)
    (folder / "raw_responses" / "again.json").write_bytes(files[twice])
    with pytest.raises(CogbiasError, match="too; keep one of the two files"):
        read_pagliaro(folder)


def test_an_archive_in_an_archive_is_named(files, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "cognitive-biases-llm-main.zip").write_bytes(b"PK")
    said = "but the archive 'cognitive-biases-llm-main.zip'; unpack it"
    with pytest.raises(CogbiasError, match=said):
        read_pagliaro(tmp_path / "in")


@pytest.mark.parametrize("name", ["raw_responses (1)", "my_raw_responses", "Raw_Responses"])
def test_a_renamed_folder_holds_no_answers(files, tmp_path, name):
    some = {"prompts.json": files["prompts.json"], f"{name}/one.json": files[FILE]}
    folder = changed(some, tmp_path / "in", "", None)
    with pytest.raises(CogbiasError, match="there should be raw_responses/.*json"):
        import_pagliaro(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_shipped_facts_give_the_same_effects(imported, estimated, biases, tmp_path):
    "Outcomes without texts carry the whole analysis."
    facts = pd.read_parquet(shipped("data", "published", OUTCOMES))
    pairs = set(trials_of(imported[1])["cluster"])
    facts[facts["content_set"].isin(pairs)].to_parquet(tmp_path / OUTCOMES)
    import_pagliaro(tmp_path / OUTCOMES, tmp_path / "facts", as_published=False)
    place = tmp_path / "table.parquet"
    said = CliRunner().invoke(app, ["effects", str(tmp_path / "facts"), "--out", str(place)])
    assert said.exit_code == 0, said.output
    names = ["participant", "paradigm", "measure", "group", "estimate", "ci_low", "ci_high"]
    pd.testing.assert_frame_equal(pd.read_parquet(place)[names], estimated[names], atol=1e-12)
    trials = trials_of(tmp_path / "facts")
    assert trials["response"].isna().all() and len(trials) == len(trials_of(imported[1]))
    assert biases == SOME or len(trials) == len(facts) == 67_300


def source_files(files: dict) -> dict:
    "The archive as its authors publish it: prompts in two source files, which nobody runs."
    told = json.loads(files["prompts.json"])
    lines = ["import os", "raise SystemExit('this file was run')"]
    for number, (bias, each) in enumerate(told["biases"].items()):
        variants = [
            {"id": name, "parse_type": known["answer"], "bias_option": known.get("biased")}
            | {"anchor": known.get("anchor")}
            | {side: known["prompts"][side] for side in ("control", "treatment")}
            for name, known in each["variants"].items()
        ]
        lines.append(f"BIAS_{number} = { ({'name': bias, 'variants': variants})!r}")
    warnings = told["arms"]["D3_counter"]["prepend"]
    strategies = [
        "import models",
        f"COUNTER_PROMPTS = { ({bias: text.rstrip() for bias, text in warnings.items()})!r}",
        f"ROLE_PROMPT = {told['arms']['D4_role']['prepend'].rstrip()!r}",
    ]
    return {
        "top/code/biases.py": "\n".join(lines).encode(),
        "top/code/debiasing.py": "\n".join(strategies).encode(),
        "top/results/figures/one.png": b"\x89PNG",
        "top/LICENSE": b"a licence",
    }


def test_the_repository_as_it_is_downloaded(files, tmp_path):
    "Prompts from source files that are parsed and not run; what else lies there is counted."
    some = {name: data for name, data in files.items() if of(("decoy_effect",), name)}
    folder = {f"top/results/{name}": data for name, data in some.items()} | source_files(files)
    ours = changed(some | {"prompts.json": files["prompts.json"]}, tmp_path / "ours", "", None)
    theirs = changed(folder, tmp_path / "theirs", "", None)
    packed = tmp_path / "theirs.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(theirs / "top", "cognitive-biases-llm-main")
    known = read_pagliaro(ours)
    for found in (read_pagliaro(theirs), read_pagliaro(packed)):
        assert found.counts == known.counts
        for name, items in known.items.items():
            pd.testing.assert_frame_equal(found.items[name], items)
        odd = found.oddities.groupby("code")["count"].sum()
        assert odd["other_file"] == 2 and odd["missing_file"] == 105 - len(some)


def test_a_changed_prompt_is_found(files, tmp_path):
    def change(told):
        known = told["biases"]["framing_effect"]["variants"]["framing_v2"]["prompts"]
        known["control"] = known["control"].replace("90%", "91%")

    some = {each: files[each] for each in (FILE, "prompts.json")}
    folder = changed(some, tmp_path / "in", "prompts.json", change)
    said = "prompt framing_v2, control, baseline: its text or its options are not the published"
    with pytest.raises(CogbiasError, match=said):
        import_pagliaro(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_missing_file_is_named(files, tmp_path, capsys):
    some = {each: files[each] for each in (FILE, "prompts.json")}
    folder = changed(some, tmp_path / "in", "", None)
    out = str(tmp_path / "out")
    said = CliRunner().invoke(app, ["import", "pagliaro", str(folder), "--out", out])
    assert said.exit_code == 0 and "missing_file" in said.output
    assert "anchoring_claude-3.5-sonnet_baseline.json" in said.output
    said = CliRunner().invoke(app, ["status", out])
    assert "104 files of answers" in said.output


@pytest.mark.parametrize("damage", ["short", "flipped"])
def test_damaged_facts_are_found(tmp_path, damage):
    facts = pd.read_parquet(shipped("data", "published", OUTCOMES))
    if damage == "short":
        facts = facts.head(50_000)
    else:
        row = facts.index[(facts["choice"] == "A")][0]
        facts.loc[row, "choice"] = "B"
    facts.to_parquet(tmp_path / OUTCOMES)
    with pytest.raises(CogbiasError, match="whose check sum is not that of the shipped table"):
        import_pagliaro(tmp_path / OUTCOMES, tmp_path / "out")


def test_no_such_facts(tmp_path):
    with pytest.raises(CogbiasError, match="no such file"):
        import_pagliaro(tmp_path / "none.parquet", tmp_path / "out")


def test_a_part_counts_what_is_there(tmp_path):
    facts, out = str(shipped("data", "published", OUTCOMES)), tmp_path / "out"
    asked = ["import", "pagliaro", facts, "--out", str(out), "--where", "arm=D1_cot"]
    said = CliRunner().invoke(app, asked)
    assert said.exit_code == 0 and "paradigms 3," in said.output
    assert len(list((out / "items").iterdir())) == 3


@pytest.mark.slow
def test_a_stopped_import_is_called_that(tmp_path):
    facts, out = str(shipped("data", "published", OUTCOMES)), tmp_path / "out"
    (out / ".import-abc").mkdir(parents=True)
    said = "an import was begun here and has not ended"
    for command in ("status", "effects"):
        found = CliRunner().invoke(app, [command, str(out)])
        assert found.exit_code != 0 and said in str(found.exception)
    asked = ["import", "pagliaro", facts, "--out", str(out), "--where", "arm=D1_cot"]
    assert CliRunner().invoke(app, asked).exit_code == 0
    (out / ".import-abc").mkdir()
    for command in ("status", "effects"):
        found = CliRunner().invoke(app, [command, str(out)])
        assert found.exit_code == 0 and said in " ".join(str(found.output).split())


def test_one_command_puts_both_readings_beside_the_answers(tmp_path):
    "As the page on these answers tells those who doubt it."
    facts, out = str(shipped("data", "published", OUTCOMES)), tmp_path / "out"
    asked = ["import", "pagliaro", facts, "--out", str(out), "--where", "content_set=sunkcost_v2"]
    assert CliRunner().invoke(app, [*asked, "--where", "arm=baseline"]).exit_code == 0
    table = tmp_path / "answers.csv"
    assert CliRunner().invoke(app, ["export", "csv", str(out), "--out", str(table)]).exit_code == 0
    told = pd.read_csv(table)
    mine = told[(told["participant"] == "claude-3.5-sonnet") & (told["condition"] == "treatment")]
    assert set(mine["choice"]) == {"B"} and len(mine) == 100
    assert mine["published_choice"].value_counts().to_dict() == {"A": 97, "B": 3}


def more_blanks(told):
    "An answer that reads as before, and is another text."
    told["variants"][1]["treatment_responses"][3] += " "


def test_a_changed_answer_is_found(files, tmp_path):
    "The counts and both readings are as they were."
    some = {each: files[each] for each in (FILE, "prompts.json")}
    folder = changed(some, tmp_path / "in", FILE, more_blanks)
    said = (
        "variant framing_v2: field 'treatment_responses' is not what was published @a1ffbb7; "
        "answers to 1 of 10 prompts differ, in 1 of 1 files"
    )
    with pytest.raises(CogbiasError, match=said) as error:
        import_pagliaro(folder, tmp_path / "out")
    assert str(error.value).startswith(FILE) and not (tmp_path / "out").exists()


def test_changed_answers_are_not_called_published(files, tmp_path):
    "Who reads them nevertheless is told so in the manifest, in reports and in the record."
    some = {each: files[each] for each in (FILE, "prompts.json")}
    folder = changed(some, tmp_path / "in", FILE, more_blanks)
    found = import_pagliaro(folder, tmp_path / "out", as_published=False)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    odd = [each for each in manifest["oddities"] if each["code"] == "other_answers"]
    assert [(each["where"], each["count"], each["first"]) for each in odd] == [
        ("gpt-4.1-mini", 1, FILE)
    ]
    assert manifest["cells"][0]["note"].startswith("not the answers that Pagliaro 2026 published")
    theirs = read_pagliaro(changed(some, tmp_path / "whole", "", None)).cells[0]
    assert theirs.note.startswith("published answers of Pagliaro 2026")
    keys = [{row["trial_id"] for row in cell.rows} for cell in (found.cells[0], theirs)]
    assert not keys[0] & keys[1]


def test_changed_facts_are_not_called_published_on_any_page(tmp_path):
    "One outcome was changed: this participant has another name, another note, no such sentence."
    facts = pd.read_parquet(shipped("data", "published", OUTCOMES))
    mine = facts["model"].isin(["mistral-large", "gpt-4.1-mini"])
    mixed = facts[mine & facts["content_set"].isin(["authority_v2"])].reset_index(drop=True)
    first = mixed.index[mixed["model"] == "mistral-large"][0]
    mixed.loc[first, "choice"] = "A" if mixed.loc[first, "choice"] == "B" else "B"
    mixed.to_parquet(tmp_path / "facts.parquet")
    found = import_pagliaro(tmp_path / "facts.parquet", tmp_path / "out", as_published=False)
    notes = {cell.who.name: cell.note for cell in found.cells}
    assert set(notes) == {"gpt-4.1-mini", "mistral-large+altered"}
    assert notes["gpt-4.1-mini"].startswith("published answers of Pagliaro 2026")
    assert notes["mistral-large+altered"].startswith("not the answers that Pagliaro 2026 published")
    odd = found.oddities
    assert odd[odd["code"] == "other_answers"]["where"].tolist() == ["mistral-large"]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["study"]["name"] == "altered answers (Pagliaro 2026)"
    rows = [("published/pagliaro_authority", name) for name in notes]
    said = _published_models(pd.DataFrame(rows, columns=["paradigm", "participant"]))
    assert "published answers read again:** gpt-4.1-mini. " in said[0]
    assert "not the published ones:** mistral-large&#43;altered. " in said[1]


def test_answers_to_a_changed_prompt_are_not_called_published(files, tmp_path):
    "The answers are as published, but one prompt is not."
    some = {each: files[each] for each in (FILE, "prompts.json")}
    some["prompts.json"] = some["prompts.json"].replace(b"surgery", b"operation")
    folder = changed(some, tmp_path / "in", "", None)
    found = read_pagliaro(folder, as_published=False)
    assert {cell.who.name for cell in found.cells} == {"gpt-4.1-mini+altered"}
    codes = found.oddities.set_index("code")
    assert "other_answers" not in codes.index and codes.loc["other_prompts", "count"] > 0


def test_a_part_tells_what_concerns_it(files, tmp_path):
    "Notes on other biases are not those of a part, and lists are not printed as Python has them."
    some = {name: data for name, data in files.items() if of(("decoy_effect", "over"), name)}
    some |= {each: files[each] for each in (FILE, "prompts.json")}
    folder = changed(some, tmp_path / "in", "", None)
    asked = ["import", "pagliaro", str(folder), "--paradigm", "published/pagliaro_framing"]
    said = CliRunner().invoke(app, [*asked, "--out", str(tmp_path / "out")])
    assert said.exit_code == 0 and "overconfidence" not in said.output
    assert "decoy" not in said.output and "10 more" not in said.output
    missing = [each for each in said.output.splitlines() if "files of answers" in each]
    assert missing[0].startswith("note: 10: ")  # 7 other models, 3 arms
    whole = read_pagliaro(folder).oddities.groupby("code")["count"].sum()
    assert whole["interval"] == 3_960 and whole["missing_file"] == 85


def test_lengths_are_told_in_words(files, tmp_path):
    def change(told):
        told["variants"][0]["control_responses"].pop()

    some = {each: files[each] for each in (FILE, "prompts.json")}
    said = "'treatment_responses' holds 100 answers and 'control_responses' 99; they differ"
    with pytest.raises(CogbiasError, match=said) as error:
        read_pagliaro(changed(some, tmp_path / "in", FILE, change))
    assert "{" not in str(error.value)
