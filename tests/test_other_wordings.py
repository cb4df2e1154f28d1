"""Other wordings for what ships, values once passed over in silence, commands that take a file."""

from __future__ import annotations

import json
import sys
from inspect import signature
from pathlib import Path

import pandas as pd
import pytest
from test_own_paradigms import (
    FILES,
    LISTED,
    NUMBERS,
    PLACES,
    TABLE,
    TEXT,
    said,
    written,
)
from typer.testing import CliRunner

from cogbias.backends.sim import exact_trials
from cogbias.checking_designs import check_design
from cogbias.cli import app, main
from cogbias.design import OWN, declare, paradigm, paradigms
from cogbias.effects import estimate_effects
from cogbias.kits.file import AS_BEFORE, paradigm_from_file, paradigm_of_files
from cogbias.own_paradigms import _paradigm_of_texts
from cogbias.running import effects_of, run_study
from cogbias.study import make_study, study_items
from cogbias.tables import CogbiasError
from cogbias.verification import verify_folder

pytestmark = pytest.mark.usefixtures("forgotten")

# --- other wordings for every classic, and for what is no classic


def rewritten(name: str, count: int = 3) -> tuple[str, str]:
    "A declaration that asks a classic in some of its own wordings, and the table of these."
    question = paradigm(name).question
    rows = []
    for content in question.contents[:count]:
        row: dict[str, object] = {"wording": content.name, **content.words}
        for gap, variable in content.variables.items():
            row[gap] = variable.value
            row |= {f"{gap}.{variant}": value for variant, value in variable.declared.items()}
        rows.append(row | dict(content.facts))
    table = pd.DataFrame(rows).to_csv(index=False)
    return f'based_on = "{name}"\nwordings = "w.csv"\n', table


@pytest.mark.parametrize("name", paradigms("classic/*"))
def test_every_classic_takes_other_wordings(name: str) -> None:
    text, table = rewritten(name)
    made = paradigm_of_files({"other.toml": text, "w.csv": table})
    base = paradigm(name)
    shipped = base.items()
    wanted = shipped[shipped["content_set"].isin(set(made.items()["cluster"]))]
    asked = made.items()
    for column in ("condition", "cluster", "variant", "system", "prompt", "pair_id", "truth"):
        assert asked[column].tolist() == wanted[column].tolist(), column
    assert asked["content"].tolist() == wanted["content"].tolist()
    assert [each.measure for each in made.contrasts][0] == base.headline.measure
    more = {"settings": set(signature(base.items).parameters) - {"seed"}}
    assert more["settings"] <= set(signature(made.items).parameters)


def test_arguments_of_a_classic_hold_for_other_wordings() -> None:
    for name, argument, value, sign in (
        ("anchoring", "arbitrary", True, "was drawn at random"),
        ("endowment", "inspection", True, "pick it up and examine"),
        ("gamblers_fallacy", "side", "heads", "the next toss shows heads"),
    ):
        text, table = rewritten(f"classic/{name}")
        files = {"other.toml": text, "w.csv": table}
        given = paradigm_of_files(files).items(**{argument: value})
        assert given["prompt"].str.contains(sign).any(), name
        said_so = f"[settings]\n{argument} = {json.dumps(value)}\n"
        told = paradigm_of_files({**files, "other.toml": text + said_so})
        assert told.items()["item_id"].tolist() == given["item_id"].tolist()


def test_numbers_of_a_wording_have_the_step_of_the_shipped_ones() -> None:
    text, table = rewritten("classic/gamblers_fallacy")
    first = table.splitlines()[1]
    ten = table.replace(first, first.rpartition(",")[0] + ",10")  # times 9.7 this would be 97
    made = paradigm_of_files({"other.toml": text, "w.csv": ten}).items(variants=["odd"])
    assert made["content"].iloc[0]["n"] == 98


def test_a_persona_takes_the_place_of_the_usual_one_whatever_else_is_set() -> None:
    text = 'based_on = "classic/anchoring"\npersona = "You are a sailor."\n'
    for more in ("", "[settings]\narbitrary = true\n"):
        made = paradigm_of_files({"sailor.toml": text + more}).items()
        assert not made["system"].str.contains("You are a customer").any()
        told = made["system"].str.startswith("You are a sailor.")
        assert (told == (made["variant"] != "no_persona")).all()


def test_another_kit_is_asked_with_a_persona_and_without() -> None:
    text = 'based_on = "choice/decoy"\npersona = "You are a nurse."\n'
    few = {"target_sides": ["cheaper"], "products": ["phone"]}
    text += f"settings.target_sides = {json.dumps(few['target_sides'])}\n"
    text += f"settings.products = {json.dumps(few['products'])}\n"
    both = declare(paradigm_of_files({"n.toml": 'variants = ["base", "no_persona"]\n' + text}))
    one = paradigm_of_files({"n.toml": text})
    items, shipped = both.items(), paradigm("choice/decoy").items(**few)
    of = {name: rows for name, rows in items.groupby("variant")}
    assert of["base"]["item_id"].tolist() == one.items()["item_id"].tolist()
    assert of["no_persona"]["prompt"].tolist() == shipped["prompt"].tolist()
    assert of["no_persona"]["system"].isna().all()
    assert not set(of["base"]["pair_id"]) & set(of["no_persona"]["pair_id"])
    found = estimate_effects(exact_trials("human", items), items, both)
    usual = estimate_effects(exact_trials("human", shipped), shipped, paradigm("choice/decoy"))
    mine = found[found["measure"] == both.headline.measure].groupby("group")["estimate"].first()
    assert mine["all"] == pytest.approx(usual["estimate"].iloc[0])
    assert mine["variant=no_persona"] == pytest.approx(usual["estimate"].iloc[0])


SETS = """wording,plan,news
bakery,a bakery in the lobby,Few people buy anything there.
night bus,a bus for the night shift,Most of its seats stay empty.
"""


def test_a_scenario_takes_sets_of_texts() -> None:
    text = 'based_on = "managerial/escalation"\nwordings = "w.csv"\n'
    made = paradigm_of_files({"own.toml": text, "w.csv": SETS})
    items = made.items()
    assert set(items["filling_set"]) == {"bakery", "night bus"}
    assert set(items["crossed"]) == {"bakery", "night bus"}
    assert check_design(made).clusters.clusters == 2
    kept = paradigm_of_files({"own.toml": "keep_wordings = true\n" + text, "w.csv": SETS})
    sets = paradigm("managerial/escalation").items()["filling_set"].nunique()
    assert kept.items()["filling_set"].nunique() == sets + 2


def test_stories_that_a_model_wrote_are_asked_of_a_file_too(tmp_path: Path) -> None:
    text = 'based_on = "managerial/escalation"\npersona = "You are tired."\n'
    made = paradigm_of_files({"own.toml": text})
    assert "fillings" in signature(made.items).parameters
    with pytest.raises(CogbiasError, match="own.toml, line 3, column 1: settings.fillings: "):
        paradigm_from_file(
            written(tmp_path, {"own.toml": text + 'settings.fillings = "stories.jsonl"\n'})
        )


def test_a_scenario_with_settings_is_asked_with_others_too() -> None:
    text = 'based_on = "managerial/escalation"\npersona = "You are tired."\n'
    made = paradigm_of_files({"own.toml": text + "settings.settings = 6\n"})
    assert len(made.items(orders=1)) == 6 * 2
    assert len(made.items(settings=4)) == 4 * 2 * 2


@pytest.mark.slow
def test_a_folder_of_before_means_what_was_asked_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = 'based_on = "classic/anchoring"\npersona = "You are a sailor."\n'
    file, out = str(written(tmp_path, {"own.toml": text})), tmp_path / "out"
    with monkeypatch.context() as before:  # up to this version, a file was read so
        as_before = lambda files, folder, _: paradigm_of_files(files, folder, True)  # noqa: E731
        before.setattr("cogbias.own_paradigms.paradigm_of_files", as_before)
        run_study(make_study(models=["sim/human"], paradigms=[file]), out, reports=False)
    _paradigm_of_texts.cache_clear()
    stored = effects_of(out, save=False)
    OWN.clear()
    pd.testing.assert_frame_equal(effects_of(out, save=False), stored)
    assert verify_folder(out).follows
    read = paradigm("own/own")
    assert AS_BEFORE in read.caveats and read.items()["system"].str.contains("customer").any()
    OWN.clear()
    run_study(make_study(models=["sim/human"], paradigms=[file]), tmp_path / "new", reports=False)
    OWN.clear()
    assert verify_folder(tmp_path / "new").follows
    assert not paradigm("own/own").items()["system"].str.contains("You are a customer").any()


OTHER_BASES = [
    ('based_on = "classic/endowment"\nwordings = []', "line 2, column 1: wordings: there is none"),
    (
        'based_on = "classic/framing"\nkeep_wordings = true\n[[wordings]]\nwording = "play"\n'
        'plan = "Go."\nticket = "a"\nplace = "b"\nprice = 7\ncash = 7\n',
        "line 4, column 1: wordings.1.wording: classic/framing has a wording 'play'; rename",
    ),
    (
        'based_on = "classic/endowment"\n[[wordings]]\nwording = "a pin"\ngood = "A pin lies here."'
        "\nprice = 1\n",
        "line 5, column 1: wordings.1.price: in the variant 'base' it does not hold that the price",
    ),
    (
        'based_on = "classic/gamblers_fallacy"\n[[wordings]]\nwording = "x"\nact = "a"\nseen = "b"'
        '\nstreak = "c"\ndue = "d"\nnext = "e"\nn = 7\n',
        "line 9, column 1: wordings.1.n: in the variant 'base' it does not hold that both sides",
    ),
    (
        'based_on = "classic/endowment"\n[[wordings]]\nwording = "x"\ngood = "A."\nprice = 9\n'
        "truth = 3\n",
        "line 6, column 1: wordings.1.truth: classic/endowment knows or needs no right number",
    ),
    (
        'based_on = "classic/framing"\n[settings]\ncontents = "nowhere"\n',
        "line 2, column 1: settings: own/other: content set 'nowhere' is not known",
    ),
]


@pytest.mark.parametrize(("text", "what"), OTHER_BASES)
def test_a_mistake_about_other_wordings_is_named(text: str, what: str) -> None:
    with pytest.raises(CogbiasError) as found:
        paradigm_of_files({"other.toml": text})
    assert f"other.toml, {what}" in str(found.value), found.value


# --- numbers and targets that were passed over in silence


def test_a_value_given_for_a_variant_is_asked_in_it() -> None:
    more = 'variants = ["base", "odd"]\n'
    listed = LISTED.replace("price = 10", "price = { base = 10, odd = 99 }")
    items = paradigm_of_files({"lost.toml": more + listed}).items()
    odd = items[items["variant"] == "odd"]["prompt"]
    assert odd.str.contains("$99", regex=False).all()
    columns = TABLE.replace("price", "price,price.odd").replace("\n", "\n", 1)
    columns = columns.replace(",10,", ",10,99,").replace(",20,", ",20,,")
    for each in ("8", "9", "50", "22", "14", "7", "11", "12"):
        columns = columns.replace(f",{each},", f",{each},,")
    made = paradigm_of_files({"lost.toml": more + TEXT, "outings.csv": columns}).items()
    odd = made[made["variant"] == "odd"].groupby("cluster")["prompt"].first()
    assert "$99" in odd["play"] and "$194" in odd["match"]


def test_simulated_participants_follow_the_file_as_it_is_now() -> None:
    first = declare(paradigm_of_files(FILES)).items()
    before = estimate_effects(exact_trials("human", first), first, paradigm("own/lost"))
    lower = NUMBERS.replace("number.unit", 'number.bias = "lower"\nnumber.high = 90\nnumber.unit')
    for direction, text in (("lower", lower), ("higher", lower.replace('"lower"', '"higher"'))):
        own = declare(paradigm_of_files({**FILES, "lost.toml": text}))
        items = own.items()
        found = estimate_effects(exact_trials("human", items), items, own)
        assert found["estimate"].iloc[0] > 10 > before["estimate"].iloc[0], direction


def test_a_target_of_a_wording_is_not_passed_over() -> None:
    table = TABLE.replace("\n", ",A\n").replace("outing,A", "outing,target")
    for text in (TEXT, TEXT.replace('target = "Go home"\n', "")):
        items = paradigm_of_files({"lost.toml": text, "outings.csv": table}).items()
        targets = {
            each["text"] for options in items["options"] for each in options if each["value"]
        }
        assert targets == {"Buy a ticket"}


def test_a_smaller_number_is_named_as_it_is_estimated() -> None:
    lower = NUMBERS.replace("number.unit", 'number.bias = "lower"\nnumber.high = 90\nnumber.unit')
    made = declare(paradigm_of_files({**FILES, "lost.toml": lower}))
    assert made.headline.title == "Answer, control minus treatment"
    items = made.items()
    found = estimate_effects(exact_trials("human", items), items, made)
    assert found["estimate"].iloc[0] > 0


def test_spreadsheets_of_other_countries_are_read() -> None:
    rows = "wording;place;price;kind_of_outing;;\n" + "".join(
        f'{name};"Café, „{place}“\n(neu)";{price};{kind};;\n' for name, place, price, kind in PLACES
    )
    for table in (rows, "sep=;\n" + rows, "\ufeff\n\n" + rows + ";;;;;\n\n\n"):
        made = paradigm_of_files({**FILES, "outings.csv": table.replace("\n", "\r\n")})
        first = made.items()["prompt"].iloc[0]
        assert "Café, „the theatre“\n(neu) is $10." in first.replace("\r\n", "\n"), table
    odd = rows.replace(";20;", ";1.200;")
    with pytest.raises(CogbiasError, match="'1.200' can be read as 1200 and as 1.2"):
        paradigm_of_files({**FILES, "outings.csv": odd})
    odd = rows.replace(";20;indoors;;", ";20;indoors;x;")
    with pytest.raises(CogbiasError, match="line 4, column 1: cell 5 stands in a column without"):
        paradigm_of_files({**FILES, "outings.csv": odd})


# --- commands and calls that take a file


def test_generate_takes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    file = str(written(tmp_path))
    out = str(tmp_path / "x.jsonl")
    with pytest.raises(SystemExit):
        main(["generate", file, "--model", "sim/human", "--out", out])
    told = capsys.readouterr().err
    assert "own/lost has no written gaps; there is nothing to generate, and its texts" in told
    assert told.count("\n") == 1
    based = tmp_path / "tired.toml"
    based.write_text('based_on = "managerial/escalation"\npersona = "You are tired."\n')
    with pytest.raises(SystemExit):
        main(["generate", str(based), "--model", "sim/human", "--out", out])
    assert "sim/human cannot write" in capsys.readouterr().err  # the gaps are there


def test_what_a_model_wrote_for_a_file_is_asked(tmp_path: Path) -> None:
    based = tmp_path / "tired.toml"
    based.write_text('based_on = "managerial/escalation"\npersona = "You are tired."\n')
    program = tmp_path / "writer.py"
    program.write_text(
        "import json, sys\n"
        "for number, line in enumerate(sys.stdin):\n"
        "    asked = json.loads(line)\n"
        "    plans = ['a bakery in the lobby', 'a bus for the night shift']\n"
        "    news = ['Few people buy anything there.', 'Most of its seats stay empty.']\n"
        "    texts = {'plan': plans[number % 2], 'news': news[number % 2]}\n"
        "    print(json.dumps({'id': asked['id'], 'answer': json.dumps(texts)}), flush=True)\n"
    )
    out = tmp_path / "stories.jsonl"
    model = ("--model", f"command/{sys.executable} {program}", "--allow-command")
    told = said("generate", str(based), *model, "--out", str(out), "--settings", "2")
    assert "2 of 2 stories are whole" in told
    fields = {"models": ["sim/human"], "paradigms": [str(based)]}
    study = make_study(**fields, settings={"own/tired": {"fillings": str(out)}})
    items = study_items(study, "own/tired")
    assert items["prompt"].str.contains("a bakery in the lobby").any()
    assert items["system"].eq("You are tired.").all()


def test_a_shell_completes_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "designs")
    monkeypatch.chdir(tmp_path / "designs")
    environment = {"_COGBIAS_COMPLETE": "complete_bash"}
    for line in ("cogbias generate ./l", "cogbias run --paradigm ./l", "cogbias check ./l"):
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
        done = CliRunner().invoke(app, [], prog_name="cogbias", env=environment)
        assert done.output.split() == ["./lost.toml"], line


# --- what a new user does wrong with a draft


def checked(**files: str) -> list[str]:
    "The codes of what is found in a design."
    return [each.code for each in check_design(paradigm_of_files({**FILES, **files})).findings]


def test_check_sees_what_a_reader_would_stumble_over() -> None:
    labelled = TEXT.replace('["Buy a ticket", "Go home"]', '["A) Buy a ticket", "B) Go home"]')
    assert "labelled_options" in checked(**{"lost.toml": labelled.replace('"Go home"', '"B"')})
    doubled = TEXT.replace("{place} is", "{{place}} is")
    assert "braces" in checked(**{"lost.toml": doubled})
    head = TEXT.partition("options")[0] + 'conditions = { control = "c", treatment = "t" }\n'
    table = (
        "wording,condition,prompt,option_a,option_b,target\n"
        "x,control,Do you?,yes,no,no\nx,treatment,Would you?,yes,no,yes\n"
    )
    found = checked(**{"lost.toml": head + 'wordings = "outings.csv"\n', "outings.csv": table})
    assert "target_by_condition" in found
    question = 'question = { control = "Go?", treatment = "Stay?" }\n'
    found = checked(
        **{"lost.toml": head + question + 'wordings = "outings.csv"\n', "outings.csv": table}
    )
    assert "never_asked" in found
    assert not {"labelled_options", "braces", "target_by_condition", "never_asked"} & set(checked())


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('"Lost ticket"', "“Lost ticket”", "line 1, column 9: no valid TOML (Invalid value); “ is"),
        ("treatment = ", "treatement = ", "line 14, column 1: conditions: should be a table with"),
        ("treatment = ", "treatement = ", "and 'treatement' is neither; rename it"),
    ],
)
def test_a_slip_of_the_pen_is_named_where_it_stands(old: str, new: str, what: str) -> None:
    with pytest.raises(CogbiasError) as found:
        paradigm_of_files({**FILES, "lost.toml": TEXT.replace(old, new, 1)})
    assert what in str(found.value), found.value


def test_a_decimal_comma_is_read_and_told(tmp_path: Path) -> None:
    rows = TABLE.replace(",", ";").replace(";10;", ";2,5;").replace(";20;", ";1.200,75;")
    file = written(tmp_path, {**FILES, "outings.csv": rows})
    items = paradigm_from_file(file).items()
    assert items["prompt"].str.contains("$2.5.", regex=False).any()
    assert items["prompt"].str.contains("$1200.75", regex=False).any()
    told = "commas in numbers of the table of wordings were read as decimal points (2 in outings"
    assert told in said("check", str(file)).replace("\n", " ")
    arguments = ("--model", "sim/human", "--paradigm", str(file), "--outputs", str(tmp_path / "o"))
    assert told.capitalize() in said("plan", *arguments).replace("\n", " ")
    plain = written(tmp_path / "plain")
    assert "decimal points" not in said("check", str(plain))
    for odd, what in (
        (TABLE.replace(",", ";").replace(";10;", ";1,200;"), "'1,200' can be read as 1200 and as"),
        (TABLE.replace(",10,", ',"1,200",'), "'1,200' can be read as 1200 and as 1.2; write it"),
        (TABLE.replace(",10,", ',"2,5",'), "between the cells of this file; write 2.5, or save"),
    ):
        with pytest.raises(CogbiasError, match="outings.csv, line 2, column 'price': ") as found:
            paradigm_of_files({**FILES, "outings.csv": odd})
        assert what in str(found.value), found.value


def test_a_third_condition_gets_a_remedy_that_leads_on() -> None:
    told = "write a file for each treatment, with the same control"
    three = TEXT.replace("[conditions]\n", '[conditions]\ngift = "a gift is lost"\n')
    head = TEXT.partition("options")[0] + 'conditions = { control = "c", treatment = "t" }\n'
    names = ("control", "treatment", "gift")
    rows = "".join(f"x,{each},Do you {each}?,yes,no,no\n" for each in names)
    table = "wording,condition,prompt,option_a,option_b,target\n" + rows
    asked = head + 'wordings = "outings.csv"\n'
    for text, wordings, where in (
        (three, TABLE, "lost.toml, line 13, column 1: conditions: should be"),
        (asked, table, "outings.csv, line 4, column 'condition': 'gift' is no condition"),
    ):
        with pytest.raises(CogbiasError) as found:
            paradigm_of_files({"lost.toml": text, "outings.csv": wordings})
        assert where in str(found.value) and told in str(found.value), found.value


def test_several_treatments_are_files_with_the_same_control(tmp_path: Path) -> None:
    lost = "You lost your ticket."
    files = [
        written(
            tmp_path / name, {f"{name}.toml": TEXT.replace(lost, said_of), "outings.csv": TABLE}
        )
        for name, said_of in (("lost", lost), ("torn", "You tore your ticket."))
    ]
    study = make_study(models=["sim/human"], paradigms=[str(each) for each in files])
    run_study(study, tmp_path / "out", reports=False)
    rows = effects_of(tmp_path / "out", save=False)
    heads = rows[(rows["measure"] == "lost_ticket_effect") & (rows["group"] == "all")]
    assert {"own/lost", "own/torn"} == set(heads["paradigm"])
    assert heads.groupby("paradigm")["p_adjusted"].first().notna().all()  # corrected together
    assert heads["family"].nunique() == 1
    one, two = (paradigm(f"own/{name}").items() for name in ("lost", "torn"))
    shared = one["condition"] == "control"
    assert (one["prompt"] == two["prompt"]).tolist() == shared.tolist()
