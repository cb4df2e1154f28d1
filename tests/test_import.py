"""Import of the published prompts: counts, agreement with our generators, broken input.

Skipped where the published files are absent.
"""

import copy
import json
import random
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from cogbias.backends.sim import exact_trials
from cogbias.design import paradigm
from cogbias.tables import ITEMS, CogbiasError, load_table, save_table
from cogbias.effects import estimate_effects
from cogbias.design import usable_items
from cogbias.exchange import FIELDS, import_items, import_report
from cogbias.exchange.archives import archive_contents
from tiers import slow_but

REPOSITORY = Path(__file__).parents[1]
ARCHIVE = REPOSITORY.parent / "shared" / "data" / "instructed_to_bias" / "Data.zip"
pytestmark = pytest.mark.skipif(not ARCHIVE.exists(), reason="the published files are not here")
SUBTEMPLATES = [
    "bias_type_index",
    "vals_index",
    "options_text_template_id",
    "options_a_template_id",
    "options_b_template_id",
    "permutation_index",
]

FORMS = {  # of the 12 arguments of each cell, major premise first
    "valid_believable": {
        "I(MP)+A(MS)->I": 4,
        "A(MP)+I(SM)->I": 3,
        "A(PM)+E(SM)->E": 2,
        "A(MP)+A(SM)->A": 1,
        "A(MP)+I(MS)->I": 1,
        "E(MP)+A(SM)->E": 1,
    },
    "valid_unbelievable": {"A(MP)+A(SM)->A": 9, "E(MP)+A(SM)->E": 2, "E(PM)+A(SM)->E": 1},
    "invalid_believable": {
        "I(MP)+A(SM)->I": 3,
        "I(MP)+I(MS)->I": 3,
        "I(MP)+I(SM)->I": 2,
        "A(MP)+E(SM)->E": 2,
        "A(MP)+A(MS)->A": 1,
        "E(MP)+I(MS)->E": 1,
    },
    "invalid_unbelievable": {
        "A(MP)+A(MS)->A": 3,
        "A(PM)+A(SM)->A": 3,
        "A(PM)+I(SM)->A": 2,
        "A(MP)+E(SM)->E": 1,
        "A(PM)+A(MS)->A": 1,
        "E(MP)+A(MS)->E": 1,
        "E(PM)+E(SM)->E": 1,
    },
}


@pytest.fixture(scope="module")
def published():
    "Every published file, parsed: name -> records by number."
    with zipfile.ZipFile(ARCHIVE) as archive:
        return {
            name: json.loads(archive.read(name))
            for name in archive.namelist()
            if name.endswith(".json")
        }


@pytest.fixture(scope="module")
def imported():
    "The items of the published zip file."
    return import_items("instructed-to-bias", ARCHIVE)


def write(folder, files):
    "Put parsed files into a folder, names and all."
    for name, records in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(records))
    return folder


def plain(value):
    "Tuples as lists, so that generated and imported content compare."
    return json.loads(json.dumps(value))


def shown(options):
    "Role and value of each option, in order."
    return [(each["role"], each["value"]) for each in options]


# ---- what arrives


def test_every_record_arrives(imported, published):
    report = import_report(imported).drop_duplicates("file").set_index("file")
    assert len(published) == 42 and set(report.index) == set(published)
    assert report.records.to_dict() == {name: len(records) for name, records in published.items()}
    assert (report.records == report.new_items + report.duplicates).all()
    assert (report.records.sum(), report.new_items.sum(), len(imported)) == (28176, 17956, 17956)
    assert imported.attrs["report"] == import_report(imported).to_dict("records")


def test_prompts_are_verbatim(imported, published):
    for row in imported[["source_file", "source_record", "prompt"]].itertuples():
        assert published[row.source_file][str(row.source_record)]["text"] == row.prompt
    assert set(imported.prompt) == {
        each["text"] for records in published.values() for each in records.values()
    }


def test_also_in_names_the_other_places(imported, published):
    places = imported.also_in.dropna()
    for index in places.index[::97]:
        for place in places[index].split("; "):
            file, _, number = place.rpartition("#")
            assert published[file][number]["text"] == imported.prompt[index]


def test_problems(imported):
    found = imported[imported.problem != ""].groupby(["problem", "usable"]).size().to_dict()
    assert found == {
        ("copy_of_control", False): 504,
        ("older_wording", False): 2 * (1152 + 96),
        ("decoy_dominated_by_both", True): 720,
        ("contradictory_premises", True): 112 + 84,
    }
    report = import_report(imported).set_index(["file", "problem"])["count"]
    belief = "Data/false_belief/all_permutations/t_[1, 2, 3, 4, 5, 6, 7]_dm_1,dm_2_{}.json"
    assert (
        report[belief.format("Treatment"), "contradictory_premises"],
        report[belief.format("Control"), "contradictory_premises"],
    ) == (112, 84)
    assert set(imported[imported.problem == "copy_of_control"].source_file) == {
        "Data/certainty/all_permutations/t_[1, 2, "
        "3]_three_probs,two_probs,not_probable_Treatment.json"
    }
    assert imported[imported.problem == "older_wording"].source_file.str.contains("wbias_").all()
    assert not imported[imported.problem == "decoy_dominated_by_both"].asymmetric.any()
    assert not imported[imported.problem == "contradictory_premises"].premises_consistent.any()
    assert (
        imported[imported.paradigm == "logic/belief"].premises_consistent.sum()
        == len(imported[imported.paradigm == "logic/belief"]) - 196
    )


def test_notes(imported):
    usable = imported[imported.usable]
    assert usable.note.value_counts().to_dict() == {
        "": 11232 - 384 + 840 + 2548,
        "shared_text": 4 * 96,
        "void_label": 2 * 168,
    }
    assert set(usable[usable.note == "shared_text"].data_set) == {
        "decoy/property",
        "decoy/property_cheaper",
        "decoy/frying_pan",
        "decoy/frying_pan_cheaper",
    }
    assert set(usable[usable.note == "void_label"].design) == {"possibility"}


def test_counts_of_usable_items(imported):
    usable = imported[imported.usable]
    counts = (
        usable[usable.paradigm == "choice/certainty"]
        .groupby(["data_set", "design", "condition"])
        .size()
    )
    assert counts.groupby(["design", "condition"]).sum().unstack().to_dict("index") == {
        "common_consequence": {"control": 168, "treatment": 252},
        "common_ratio": {"control": 168, "treatment": 252},
        "possibility": {"control": 168, "treatment": 168},
    }
    assert counts["certainty/three_probs,two_probs"].groupby("condition").sum().to_dict() == {
        "control": 336,
        "treatment": 504,
    }
    possibility = usable[(usable.design == "possibility") & (usable.condition == "treatment")]
    assert possibility.source_file.str.endswith("wbias_True.json").all()
    assert {each["role"] for options in possibility.options for each in options} == {
        "target",
        "riskier",
    }
    belief = (
        usable[usable.paradigm == "logic/belief"]
        .groupby(["data_set", "condition"])
        .size()
        .to_dict()
    )
    # 140 prompts of dm_1,dm_2 with real nouns are also in dm_full
    assert belief == {
        ("belief/dm_full", "control"): 672,
        ("belief/dm_full", "treatment"): 672,
        ("belief/dm_1,dm_2", "control"): 672,
        ("belief/dm_1,dm_2", "treatment"): 532,
    }


# ---- agreement with the generators


def test_certainty_agrees_with_the_generator(imported):
    own, theirs = (
        paradigm("choice/certainty").items(answer_formats=("bare",)),
        usable_items(imported, "choice/certainty"),
    )
    both = own.merge(
        theirs,
        on=[*SUBTEMPLATES, "template", "condition"],
        suffixes=("", "_theirs"),
        how="outer",
        validate="1:1",
        indicator=True,
    )
    assert (both["_merge"] == "both").all() and len(both) == 504 + 336 + 168 + 168
    for name in (
        "cluster",
        "stratum",
        "pair_id",
        "order_group",
        "design",
        "target_position",
        "n_options",
        "eu_consistent",
        "answer_format",
        "is_original",
    ):
        assert (both[name] == both[name + "_theirs"]).all(), name
    assert [plain(each) for each in both.content] == list(both.content_theirs)
    assert both.options.map(shown).tolist() == both.options_theirs.map(shown).tolist()
    assert set(own.columns) <= set(theirs.columns) and not set(own.item_id) & set(theirs.item_id)
    assert {name: theirs[name].dtype for name in own.columns} == own.dtypes.to_dict()


def test_decoy_agrees_with_the_generator(imported):
    own = paradigm("choice/decoy").items(
        source="published", allow_symmetric=True, answer_formats=("bare",)
    )
    theirs = usable_items(imported, "choice/decoy")
    keys = [
        "product",
        "target_side",
        "vals_index",
        "template",
        "condition",
        "published_decoy",
        "permutation_id",
    ]
    both = own.assign(published_decoy=own.published_decoy.fillna("")).merge(
        theirs.assign(published_decoy=theirs.published_decoy.fillna("")),
        on=keys,
        suffixes=("", "_theirs"),
        how="outer",
        validate="1:1",
        indicator=True,
    )
    assert (both["_merge"] == "both").all() and len(both) == 10368 + 864
    for name in (
        "cluster",
        "stratum",
        "pair_id",
        "order_group",
        "price_index",
        "quality_index",
        "decoy_kind",
        "asymmetric",
        "question_place",
        "line_style",
        "target_position",
        "competitor_position",
        "decoy_position",
        "n_options",
        "is_original",
        "answer_format",
    ):
        assert both[name].fillna("").tolist() == both[name + "_theirs"].fillna("").tolist(), name
    assert (
        both.options.map(lambda options: [each["role"] for each in options]).tolist()
        == both.options_theirs.map(lambda options: [each["role"] for each in options]).tolist()
    )
    assert set(own.columns) <= set(theirs.columns)
    differ = 0
    for mine, other, product, code in zip(
        both.content, both.content_theirs, both["product"], both.published_decoy
    ):
        if product == "frying_pan" and code in (
            "R",
            "RF",
            "R_EXTREAM",
        ):  # ours end in .99, theirs in .98
            assert (
                round(mine["options"]["decoy"]["price"] - other["options"]["decoy"]["price"], 4)
                == 0.01
            )
            mine, differ = copy.deepcopy(mine), differ + 1
            mine["options"]["decoy"]["price"] = other["options"]["decoy"]["price"]
        assert mine == other
    assert differ == 2 * 4 * 3 * 3 * 6 * 4


def test_belief_twins(imported):
    table = usable_items(imported, "logic/belief")
    own = paradigm("logic/belief").items()
    assert set(own.columns) - set(table.columns) == {
        "premises_believable"
    }  # nobody published which premises are true
    full = table[table.data_set == "belief/dm_full"]
    twins = full.pivot(index="pair_id", columns="condition", values="source_record")
    assert len(twins) == 672 and (twins.control == twins.treatment).all()
    clusters = full.groupby("stratum").cluster.nunique()
    assert clusters.to_dict() == {
        "valid_believable": 12,
        "valid_unbelievable": 12,
        "invalid_believable": 12,
        "invalid_unbelievable": 12,
    }
    assert (
        full.triple_index.nunique() == 12
        and (full.groupby(["cluster", "stratum", "condition"]).size() == 14).all()
        and full.cluster.nunique() == 12  # a noun triple lies in all four cells
    )
    forms = (
        full.drop_duplicates(["cluster", "stratum", "condition"])
        .groupby(["condition", "stratum"])
        .form.value_counts()
    )
    for condition in ("treatment", "control"):
        assert {cell: forms[condition, cell].to_dict() for cell in clusters.index} == FORMS
    assert {
        each["label"] for options in table[table.template == 4].options for each in options
    } == {"yes", "no"}
    contradictory = table[~table.premises_consistent]
    assert (
        contradictory.figure.isna().all() and table[table.premises_consistent].figure.notna().all()
    )


@pytest.mark.parametrize(
    "name, options",
    [("choice/certainty", {}), ("choice/decoy", {"source": "published", "allow_symmetric": True})],
)
def test_the_same_contrasts_work(imported, name, options):
    made, own, theirs = (
        paradigm(name),
        paradigm(name).items(answer_formats=("bare",), **options),
        usable_items(imported, name),
    )
    one, other = (
        estimate_effects(exact_trials("human", items), items, made) for items in (own, theirs)
    )
    keys = ["measure", "group", "unit"]
    pd.testing.assert_frame_equal(
        one.sort_values(keys).reset_index(drop=True), other.sort_values(keys).reset_index(drop=True)
    )
    assert one.estimate.abs().max() > 0.05


def test_belief_contrasts_work(imported):
    made, items = paradigm("logic/belief"), usable_items(imported, "logic/belief")
    full = items[items.data_set == "belief/dm_full"]
    effects = (
        estimate_effects(exact_trials("human", full), full, made)
        .query("group == 'all'")
        .drop_duplicates("measure")
        .set_index("measure")
    )
    headline = effects.loc[made.headline.measure]
    assert headline.estimate > 0.2 and headline.n_clusters == 12 and headline.n_items == 1344
    assert set(each.measure for each in made.contrasts) <= set(effects.index)


# ---- the table elsewhere


@pytest.mark.slow  # both are read again and again below, with few records
def test_zip_and_folder_agree(imported, published, tmp_path):
    folder = write(
        tmp_path, {name.removeprefix("Data/"): records for name, records in published.items()}
    )
    again = import_items("instructed-to-bias", folder)
    assert again.item_id.tolist() == imported.item_id.tolist()
    assert ("Data/" + again.source_file == imported.source_file).all() and (
        again.problem == imported.problem
    ).all()


# every day test_tables takes a few items of every paradigm through all formats
@pytest.mark.parametrize("ending", slow_but(["parquet"], ["parquet", "jsonl", "csv"]))
def test_stored_and_loaded(imported, tmp_path, ending):
    stored = load_table(save_table(imported, tmp_path / f"items.{ending}"), ITEMS)
    assert stored.item_id.tolist() == imported.item_id.tolist()
    assert import_report(stored).to_dict("records") == imported.attrs["report"]
    for name in ("choice/certainty", "choice/decoy", "logic/belief"):
        one, other = usable_items(stored, name), usable_items(imported, name)
        assert (
            list(one.columns) == list(other.columns)
            and one.content.tolist() == other.content.tolist()
        )
        pd.testing.assert_frame_equal(
            one.drop(columns=ITEMS.names), other.drop(columns=ITEMS.names), check_dtype=False
        )


def test_mended_file_raises_no_problem(published, tmp_path):
    certainty = {name: records for name, records in published.items() if "/certainty/" in name}
    bad, right = (
        next(name for name in certainty if name.endswith(f"not_probable_{ending}.json"))
        for ending in ("Treatment", "wbias_True")
    )
    table = import_items("instructed-to-bias", write(tmp_path, certainty | {bad: certainty[right]}))
    assert (
        table.usable.all() and (table.problem == "").all() and len(table) == 504 + 336 + 168 + 168
    )
    assert not table.source_file.str.contains("wbias").any()


def test_published_texts_are_not_shipped(imported):
    lines = {
        line
        for prompt in imported.prompt.unique()
        for line in prompt.splitlines()
        if len(line) > 30 and not line.startswith(("Brand ", "Option ", "Conclusion: "))
    }
    shipped = [
        REPOSITORY / "nbs" / "30_exchange.ipynb",
        *(REPOSITORY / "nbs" / "exchange").glob("*.ipynb"),
        *(REPOSITORY / "cogbias" / "exchange").glob("*.py"),
    ]
    assert len(shipped) > 3
    for path in shipped:
        text = path.read_text(encoding="utf-8")
        assert not [line for line in lines if line in text], path


# ---- broken input


@pytest.fixture(scope="module")
def few(published):
    "Two records of every kind of file: name -> records."
    wanted = [
        name
        for name in published
        if any(part in name for part in ("decoy/car/", "certainty/", "false_belief/"))
        and "wbias" not in name
    ]
    return {name: {key: published[name][key] for key in ("0", "5")} for name in wanted}


def fields_of(record):
    "Every field of a record as a path, nested ones too."
    return [(name,) for name in record] + [
        (name, inner)
        for name, value in record.items()
        if isinstance(value, dict)
        for inner in value
    ]


def complaint(folder, files):
    "The error of an import, which must be one line."
    with pytest.raises(CogbiasError) as caught:
        import_items("instructed-to-bias", write(folder, files))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_few_records_are_fine(few, tmp_path):
    assert (
        len(import_items("instructed-to-bias", write(tmp_path, few))) == 2 * len(few) - 2
    )  # the two certainty control files share theirs


def test_every_missing_field_is_named(few, tmp_path):
    for number, (name, records) in enumerate(few.items()):
        for path in fields_of(records["5"]):
            broken = copy.deepcopy(records)
            inner = broken["5"] if len(path) == 1 else broken["5"][path[0]]
            del inner[path[-1]]
            said = complaint(tmp_path / f"{number}", {Path(name).name: broken})
            assert Path(name).name in said and "record '5'" in said and path[-1] in said, (
                said,
                path,
            )
    assert (
        {len(records["5"]) for records in few.values()}
        == {21, 14, 17}
        == {len(fields) + 1 for fields in FIELDS.values()}
    )


def test_random_deletions(published, tmp_path):
    draw = random.Random(1)
    for number in range(60):
        name = draw.choice(sorted(published))
        keys = draw.sample(sorted(published[name]), 5)
        records = {key: copy.deepcopy(published[name][key]) for key in keys}
        path = draw.choice(fields_of(records[keys[0]]))
        inner = records[keys[0]] if len(path) == 1 else records[keys[0]][path[0]]
        del inner[path[-1]]
        said = complaint(tmp_path / f"{number}", {Path(name).name: records})
        assert f"record '{keys[0]}'" in said and path[-1] in said


def test_random_changes_never_end_otherwise(published, tmp_path):
    draw, junk = (
        random.Random(2),
        [
            None,
            True,
            0,
            -1,
            3,
            10**12,
            10**30,
            1.5,
            "",
            "x",
            "All x are y.",
            "$1",
            "\ud800",
            "100%",
            [],
            {},
            {"PROB1": "100%"},
            [[1]],
            "Decoy_type.R",
            "a\nb",
        ],
    )
    outcomes = {"table": 0, "error": 0}
    for number in range(400):
        name = draw.choice(sorted(published))
        records = {
            key: copy.deepcopy(published[name][key])
            for key in draw.sample(sorted(published[name]), 3)
        }
        record = draw.choice(list(records.values()))
        path = draw.choice(fields_of(record))
        (record if len(path) == 1 else record[path[0]])[path[-1]] = draw.choice(junk)
        (tmp_path / f"{number}").mkdir()
        try:
            table = import_items(
                "instructed-to-bias", write(tmp_path / f"{number}", {Path(name).name: records})
            )
            save_table(table, tmp_path / "table.parquet")
            outcomes["table"] += 1
        except CogbiasError as error:
            assert "\n" not in str(error) and Path(name).name in str(error)
            outcomes["error"] += 1
    assert outcomes["error"] > 200 and outcomes["table"] > 20, outcomes


@pytest.mark.parametrize(
    "content, wanted",
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[]", "holds no records"),
        ("{}", "holds no records"),
        ('{"0": 1}', "record '0'"),
        ('{"x": {}}', "named by numbers"),
        ('{"0": {"bias_name": 1}}', "field 'bias_name'"),
        ('{"0": {"bias_name": "framing"}}', "which is not known"),
        ('{"0": {}, "0": {}}', "occurs twice"),
        ('{"0": {"template": 1, "text": "cut', "near record 0, field text"),
        ("[" * 200_000, "is not JSON"),
    ],
)
def test_broken_files(tmp_path, content, wanted):
    (tmp_path / "t_[1, 2]_some,thing_Control.json").write_text(content)
    with pytest.raises(CogbiasError, match=r"t_\[1, 2\]_some,thing_Control\.json") as caught:
        import_items("instructed-to-bias", tmp_path)
    assert wanted in str(caught.value) and "\n" not in str(caught.value)


def test_broken_paths(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.zip").write_text("no archive")
    for path, wanted in [
        ("empty", "holds no .json file"),
        ("text.zip", "neither a folder nor a zip file"),
        ("absent.zip", "no such file"),
    ]:
        with pytest.raises(CogbiasError, match=wanted):
            import_items("instructed-to-bias", tmp_path / path)


def test_damaged_archives(tmp_path):
    path, draw = tmp_path / "made.zip", random.Random(3)
    for packing in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA):
        with zipfile.ZipFile(path, "w", packing) as archive:
            archive.writestr("a/b [1, 2].json", '{"0": {"a": 1}}' * 20)
            archive.writestr("a/ç.json", "{}" * 50)
        whole = path.read_bytes()
        for _ in range(500):
            damaged = bytearray(whole)
            for _ in range(draw.choice([1, 1, 2, 4])):
                damaged[draw.randrange(len(damaged))] = draw.randrange(256)
            path.write_bytes(
                damaged if draw.random() < 0.9 else damaged[: draw.randrange(len(damaged))]
            )
            try:
                list(archive_contents(path))
            except CogbiasError as error:
                assert "\n" not in str(error)


def test_too_large_archive(tmp_path):
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):
            archive.writestr(f"{number}.json", b" " * 70_000_000)
    with pytest.raises(CogbiasError, match="is 210 MB unpacked, more than 200"):
        import_items("instructed-to-bias", path)
