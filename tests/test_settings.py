"""Settings of participants, paradigms and analyses: nothing unknown or impossible is accepted.

All of them are declared as those of a study are, and one check reads the declarations.
"""

from dataclasses import replace

import nbformat
import pytest

from cogbias.settings import report_parameters
from cogbias.study import check_levels, make_study, study_participants
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
    "model,settings", [(model, each) for model, several in WHO.items() for each in several], ids=str
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


def test_items_without_what_the_headline_compares_are_refused_before_anybody_is_asked():
    where = {"variant": ["no_persona"]}
    asked = make_study(models=["sim/human"], paradigms=["classic/framing"], where=where)
    with pytest.raises(CogbiasError, match="classic/framing include none"):
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
