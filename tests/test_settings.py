"""Settings of participants, paradigms and analyses: nothing unknown or impossible is accepted.

All of them are declared as those of a study are, and one check reads the declarations.
"""

from dataclasses import replace

import nbformat
import pytest

from cogbias.settings import report_parameters
from cogbias.study import check_levels, make_study, study_items, study_participants
from cogbias.tables import CogbiasError, shipped

WHO = {  # model -> settings that nobody can mean
    "sim/human": [{"temperature": -1}, {"temperature": "hot"}, {"temperature": True}],
    "hf/tiny": [
        *({"temperature": -1}, {"max_tokens": 0}, {"dtype": "float8"}, {"batch_size": 0}),
        *({"chat": "yes"}, {"tolerance": 2}, {"token_budget": 0}, {"grid": [1.0]}),
    ],
    "openai/x": [{"temperature": True}, {"concurrency": 0}, {"timeout": 0}, {"transport": 1}],
    "ollama/x": [{"temperature": True}, {"keep_alive": True}, {"timeout": True}, {"stop": "x"}],
}


@pytest.mark.parametrize(
    "model,settings",
    [(model, each) for model, several in WHO.items() for each in several],
    ids=str,
)
def test_impossible_settings_of_participants_are_refused(model, settings):
    asked = make_study(models=[model], paradigms=["choice/certainty"], participants={"*": settings})
    with pytest.raises(CogbiasError) as said:
        study_participants(asked)
    (name,) = settings
    assert str(said.value).startswith(f"{model}: ") and name in str(said.value)
    assert "\n" not in str(said.value)


@pytest.mark.parametrize(
    "analysis",
    [
        {"smallest": {"probability": float("inf")}},
        {"smallest": {"probability": True}},
        {"smallest": {"probabilty": 0.1}},
        {"smallest": [0.1]},
        {"family": "everybody"},
        {"adjustment": None},
        {"alpha": 0.5},
        {"alfa": 0.05},
    ],
    ids=str,
)
def test_impossible_analyses_are_refused(analysis):
    with pytest.raises(CogbiasError, match="study: analysis[. ]"):
        make_study(models=["sim/human"], paradigms=["choice/certainty"], analysis=analysis)


@pytest.mark.parametrize(
    "name,settings",
    [
        ("choice/certainty", {"answer_formats": ["letters"]}),
        ("choice/certainty", {"count": 0}),
        ("choice/certainty", {"seed": -5}),
        ("choice/decoy", {"products": ["boat"]}),
        ("classic/anchoring", {"seed": -5}),
        ("classic/anchoring", {"style": "plain"}),
        ("classic/framing", {"variants": "odd"}),
        ("logic/belief", {"answer_formats": ["letters"]}),
    ],
    ids=str,
)
def test_impossible_settings_of_paradigms_are_refused(name, settings):
    asked = make_study(models=["sim/human"], paradigms=[name], settings={name: settings})
    with pytest.raises(CogbiasError) as said:
        study_items(asked, name)
    assert str(said.value).startswith(f"{name}: ") and "\n" not in str(said.value)


def test_a_level_that_nothing_has_is_refused():
    where = {"template": [1, 99]}
    asked = make_study(models=["sim/human"], paradigms=["choice/certainty"], where=where)
    with pytest.raises(CogbiasError, match="where 'template' names '99', which no item has"):
        check_levels(asked)


def test_a_level_that_another_paradigm_has_is_no_mistake():
    asked = make_study(
        models=["sim/human"],
        paradigms=["classic/anchoring", "classic/framing"],
        where={"variant": ["base", "large"], "content_set": ["zoo", "gold"]},
    )
    check_levels(asked)
    assert set(study_items(asked, "classic/anchoring")["variant"]) == {"base"}  # it has no large


def test_items_without_what_the_headline_compares_are_refused_before_anybody_is_asked():
    where = {"variant": ["no_persona"]}
    asked = make_study(models=["sim/human"], paradigms=["classic/framing"], where=where)
    with pytest.raises(CogbiasError, match="no item that is asked of classic/framing"):
        check_levels(asked)
    check_levels(replace(asked, where={"variant": ["no_persona", "base"]}))


def test_the_template_of_a_report_has_the_declared_parameters():
    template = nbformat.read(shipped("reports", "bias.ipynb"), 4)
    (cell,) = [each for each in template.cells if "parameters" in each.metadata.get("tags", [])]
    lines = [
        f"{name} = {str([default]).replace(chr(39), chr(34))[1:-1]}  # {meaning}"
        for name, (default, meaning) in report_parameters().items()
    ]
    assert cell.source == "\n".join(lines)
