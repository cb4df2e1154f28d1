"The published prompts of Itzhak et al.: counts, agreement with our generators, odd input."

import copy
import json
from collections import Counter
import zipfile
from pathlib import Path

import pytest

from cogbias.design import paradigm, usable_items
from cogbias.exchange.instructed_to_bias import import_instructed_to_bias, import_lines
from cogbias.tables import CogbiasError

ARCHIVE = Path(__file__).parents[2] / "shared" / "data" / "instructed_to_bias" / "Data.zip"
pytestmark = pytest.mark.skipif(not ARCHIVE.exists(), reason="the published files are not here")
SUBTEMPLATES = [
    *("bias_type_index", "vals_index", "options_text_template_id", "options_a_template_id"),
    *("options_b_template_id", "permutation_index"),
]
FORMS = {  # of the 12 arguments of each cell, major premise first
    "valid_believable": "4 I(MP)+A(MS)->I, 3 A(MP)+I(SM)->I, 2 A(PM)+E(SM)->E, 1 A(MP)+A(SM)->A, "
    "1 A(MP)+I(MS)->I, 1 E(MP)+A(SM)->E",
    "valid_unbelievable": "9 A(MP)+A(SM)->A, 2 E(MP)+A(SM)->E, 1 E(PM)+A(SM)->E",
    "invalid_believable": "3 I(MP)+A(SM)->I, 3 I(MP)+I(MS)->I, 2 I(MP)+I(SM)->I, "
    "2 A(MP)+E(SM)->E, 1 A(MP)+A(MS)->A, 1 E(MP)+I(MS)->E",
    "invalid_unbelievable": "3 A(MP)+A(MS)->A, 3 A(PM)+A(SM)->A, 2 A(PM)+I(SM)->A, "
    "1 A(MP)+E(SM)->E, 1 A(PM)+A(MS)->A, 1 E(MP)+A(MS)->E, 1 E(PM)+E(SM)->E",
}


@pytest.fixture(scope="module")
def published():
    "Every published file, parsed: name -> records by number."
    with zipfile.ZipFile(ARCHIVE) as archive:
        names = [name for name in archive.namelist() if name.endswith(".json")]
        return {name: json.loads(archive.read(name)) for name in names}


@pytest.fixture(scope="module")
def imported():
    "The items of the published zip file."
    return import_instructed_to_bias(ARCHIVE)


def plain(value):
    "Tuples as lists, so that generated and imported content compare."
    return json.loads(json.dumps(value))


def shown(options):
    "Role and value of each option, in order."
    return [(each["role"], each["value"]) for each in options]


def test_every_record_arrives(imported, published):
    places = "; ".join(imported["also_in"].dropna()).split("; ")
    again = Counter(each.rpartition("#")[0] for each in places)
    records = again + Counter(imported["source_file"])
    assert len(published) == 42
    assert records == {name: len(each) for name, each in published.items()}
    assert (records.total(), again.total(), len(imported)) == (28176, 10220, 17956)
    found = imported[imported.problem != ""].groupby(["problem", "usable"]).size().to_dict()
    assert found == {
        ("contradictory_premises", True): 196,
        ("copy_of_control", False): 504,
        ("decoy_dominated_by_both", True): 720,
        ("older_wording", False): 2496,
    }
    notes = imported[imported.note != ""].note.value_counts().to_dict()
    assert notes == {"shared_text": 576, "void_label": 504}
    copies = [line for line in import_lines(imported) if "copy_of_control" in line]
    assert sum(int(line.split(": ")[1].split()[0]) for line in copies) == 504


def test_prompts_are_verbatim(imported, published):
    for row in imported[["source_file", "source_record", "prompt"]].itertuples():
        assert published[row.source_file][str(row.source_record)]["text"] == row.prompt
    assert set(imported.prompt) == {
        each["text"] for records in published.values() for each in records.values()
    }


def test_counts_of_usable_items(imported):
    usable = imported[imported.usable]
    mine = usable[usable.paradigm == "choice/certainty"]
    counts = mine.groupby(["data_set", "design", "condition"]).size()
    assert counts.groupby(["design", "condition"]).sum().unstack().to_dict("index") == {
        "common_consequence": {"control": 168, "treatment": 252},
        "common_ratio": {"control": 168, "treatment": 252},
        "possibility": {"control": 168, "treatment": 168},
    }
    groups = counts["certainty/three_probs,two_probs"].groupby("condition").sum()
    assert groups.to_dict() == {"control": 336, "treatment": 504}
    possibility = usable[(usable.design == "possibility") & (usable.condition == "treatment")]
    assert possibility.source_file.str.endswith("wbias_True.json").all()
    roles = {each["role"] for options in possibility.options for each in options}
    assert roles == {"target", "riskier"}
    mine = usable[usable.paradigm == "logic/belief"]
    belief = mine.groupby(["data_set", "condition"]).size().to_dict()
    # 140 prompts of dm_1,dm_2 with real nouns are also in dm_full
    assert belief == {
        ("belief/dm_full", "control"): 672,
        ("belief/dm_full", "treatment"): 672,
        ("belief/dm_1,dm_2", "control"): 672,
        ("belief/dm_1,dm_2", "treatment"): 532,
    }


def met(own, theirs, keys):
    "Generated and published items side by side, one for one."
    suffixes = {"suffixes": ("", "_theirs"), "how": "outer", "validate": "1:1", "indicator": True}
    both = own.merge(theirs, on=keys, **suffixes)
    assert (both["_merge"] == "both").all() and set(own.columns) <= set(theirs.columns)
    return both


def test_certainty_agrees_with_the_generator(imported):
    own = paradigm("choice/certainty").items(grid="published", answer_formats=("bare",))
    theirs = usable_items(imported, "choice/certainty")
    both = met(own, theirs, [*SUBTEMPLATES, "template", "condition"])
    assert len(both) == 504 + 336 + 168 + 168
    names = "cluster stratum pair_id order_group design target_position n_options eu_consistent"
    for name in (*names.split(), "answer_format", "is_original"):
        assert (both[name] == both[name + "_theirs"]).all(), name
    assert [plain(each) for each in both.content] == list(both.content_theirs)
    assert both.options.map(shown).tolist() == both.options_theirs.map(shown).tolist()
    assert not set(own.item_id) & set(theirs.item_id)
    assert {name: theirs[name].dtype for name in own.columns} == own.dtypes.to_dict()


def test_decoy_agrees_with_the_generator(imported):
    grid = {"grid": "published", "source": "published"}
    own = paradigm("choice/decoy").items(**grid, answer_formats=("bare",))
    theirs = usable_items(imported, "choice/decoy")
    own, theirs = (
        each.assign(published_decoy=each.published_decoy.fillna("")) for each in (own, theirs)
    )
    keys = "product target_side vals_index template condition published_decoy permutation_id"
    both = met(own, theirs, keys.split())
    assert len(both) == 10368 + 864
    names = """cluster stratum pair_id order_group price_index quality_index decoy_kind asymmetric
        question_place line_style target_position competitor_position decoy_position n_options
        is_original answer_format"""
    for name in names.split():
        assert both[name].fillna("").tolist() == both[name + "_theirs"].fillna("").tolist(), name
    roles = lambda options: [each["role"] for each in options]
    assert both.options.map(roles).tolist() == both.options_theirs.map(roles).tolist()
    differ = 0
    columns = "content", "content_theirs", "product", "published_decoy"
    for mine, other, product, code in zip(*(both[name] for name in columns)):
        if product == "frying_pan" and code in ("R", "RF", "R_EXTREAM"):
            # ours end in .99, theirs in .98
            one, two = (each["options"]["decoy"]["price"] for each in (mine, other))
            assert round(one - two, 4) == 0.01
            mine, differ = copy.deepcopy(mine), differ + 1
            mine["options"]["decoy"]["price"] = two
        assert mine == other
    assert differ == 2 * 4 * 3 * 3 * 6 * 4


def test_belief_twins(imported):
    table = usable_items(imported, "logic/belief")
    own = paradigm("logic/belief").items()
    # nobody published which premises are true
    assert set(own.columns) - set(table.columns) == set()
    full = table[table.data_set == "belief/dm_full"]
    twins = full.pivot(index="pair_id", columns="condition", values="source_record")
    assert len(twins) == 672 and (twins.control == twins.treatment).all()
    assert full.groupby("stratum").cluster.nunique().to_dict() == dict.fromkeys(FORMS, 12)
    assert full.cluster.nunique() == full.triple_index.nunique() == 12  # all cells of a triple
    cells = ["cluster", "stratum", "condition"]
    assert (full.groupby(cells).size() == 14).all()
    for _, rows in full.drop_duplicates(cells).groupby("condition"):
        for stratum, told in FORMS.items():
            found = rows[rows.stratum == stratum].form.value_counts().to_dict()
            pairs = (each.split() for each in told.split(", "))
            assert found == {form: int(count) for count, form in pairs}, stratum
    labels = {each["label"] for options in table[table.template == 4].options for each in options}
    assert labels == {"yes", "no"}
    assert table[~table.premises_consistent].figure.isna().all()
    assert table[table.premises_consistent].figure.notna().all()


@pytest.mark.parametrize("content", ["", "[]", "{", "[" * 100_000, '{"1": 1}', '{"x": {}}', "\xe9"])
def test_other_files_are_refused_in_one_line(tmp_path, content):
    (tmp_path / "a.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(CogbiasError, match="use the file as published") as error:
        import_instructed_to_bias(tmp_path)
    assert "\n" not in str(error.value)


def test_a_changed_prompt_is_refused(published, imported, tmp_path):
    first, number = imported.iloc[0][["source_file", "source_record"]]
    changed = published[first] | {str(number): {"text": "Which phone?"}}
    for name, records in (published | {first: changed}).items():
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(records))
    with pytest.raises(CogbiasError, match="not those that were published"):
        import_instructed_to_bias(tmp_path)
