"""Texts of one's own that would turn an answer key are refused, with their line and a remedy."""

from __future__ import annotations

import pytest
from tiers import KINDS, slow_but

from cogbias.checking_designs import check_design, check_lines
from cogbias.design import Paradigm, paradigm, paradigms
from cogbias.kits.file import paradigm_of_files
from cogbias.own_paradigms import with_declared
from cogbias.tables import CogbiasError

pytestmark = pytest.mark.usefixtures("forgotten")

QUESTIONS = {
    "bets/value": "Which is worth more, {first} or {second}?",
    "logic/belief": "{argument}\\n{instruction}",
    "choice/certainty": "{options}\\n{instruction}",
    "choice/decoy": "Buy one {noun} of {number}, says {raters}.\\n{options}\\n{instruction}",
}


def reworded(base: str, **texts: str) -> Paradigm:
    "A paradigm in one wording of one's own; its parts begin in line 5."
    given = {"question": QUESTIONS.get(base), **texts}
    lines = [f'{part} = "{text}"' if text else "" for part, text in given.items()]
    head = [f'based_on = "{base}"', "[[wordings]]", 'name = "mine"']
    return paradigm_of_files({"mine.toml": "\n".join([*head, *lines])})


TURNED_SIDES = {
    "side_1": "If the coin comes up tails, then I {event}.",
    "name_1": "heads",
    "side_2": "If it comes up heads, then I {event}.",
    "name_2": "tails",
}


@pytest.mark.parametrize(
    ("base", "texts", "line", "told"),
    [
        ("bets/coin", TURNED_SIDES, 6, "does not stand in 'side_1' but in 'side_2'"),
        ("bets/coin", {"name_1": "tails", "name_2": "heads"}, 5, "but in 'side_2'"),
        ("bets/coin", {"no_bet": "I should bet on heads"}, 5, "reads like 'name_1'"),
        ("bets/coin", {"win": "lose {thing}", "lose": "win {thing}"}, 5, "what 'lose' says"),
        ("bets/open", {"neither": "Heads"}, 5, "what 'name_1' says"),
        ("bets/urn", {"name_1": "white", "name_2": "red"}, 5, "what 'name_2' says"),
        (
            "bets/value",
            {"first": "{first}", "second": "{second}", "same": "{first}"},
            7,
            "what 'first' says",
        ),
        (
            "bets/value",
            {"first": "{first} or {second}", "second": "{first} or {second}", "same": "alike"},
            6,
            "reads like 'first'",
        ),
        ("logic/belief", {"valid": "invalid", "invalid": "valid"}, 5, "what 'invalid' says"),
        ("logic/belief", {"all": "Some {subject} are {predicate}"}, 5, "what 'some' says"),
        ("logic/belief", {"all": "All {predicate} are {subject}"}, 5, "exchanged; put them back"),
        ("logic/belief", {"premise_1": "Conclusion: {sentence}."}, 5, "what 'conclusion' says"),
        ("choice/decoy", {"two": "three", "three": "two"}, 5, "what 'three' says"),
        ("choice/decoy", {"noun_car": "phone"}, 5, "what 'noun_phone' says"),
        ("choice/decoy", {"noun_car": "thing", "noun_phone": "Thing"}, 6, "reads like 'noun_car'"),
        ("choice/certainty", {"risky_1": "{chance} with probability {prize}"}, 5, "exchanged"),
        ("choice/certainty", {"sure_1": "a sure {prize}"}, 2, "reads like 'sure_1'"),
    ],
)
def test_a_text_that_turns_a_part_into_another_is_refused(base, texts, line, told):
    with pytest.raises(CogbiasError) as refused:
        reworded(base, **texts)
    assert f"mine.toml, line {line}, " in str(refused.value)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("base", "texts"),
    [
        ("bets/coin", TURNED_SIDES | {"name_1": "tails", "name_2": "heads"}),
        ("bets/coin", {"win": "earn {thing}", "lose": "pay {thing}"}),
        ("bets/coin", {"name_2": "the tail"}),
        ("logic/belief", {"all": "Every {subject} is one of the {predicate}"}),
        (
            "choice/decoy",
            {"raters_car": paradigm("choice/decoy").wordings.parts["raters_phone"].usual},
        ),
        ("choice/certainty", {"sure_1": "a sure {prize}", "sure_2": "{prize}, guaranteed"}),
    ],
)
def test_other_words_for_the_same_pass(base, texts):
    assert len(reworded(base, **texts).items())


@pytest.mark.parametrize(
    "name",
    slow_but(
        [name for name in KINDS if paradigm(name).wordings is not None],
        [name for name in paradigms("*") if paradigm(name).wordings is not None],
    ),
)
def test_a_shipped_wording_may_be_brought_as_ones_own(name):
    shipped = paradigm(name).wordings
    for number, texts in shipped.given.items():
        lines = [f"{part} = '''{text}'''" for part, text in shipped.whole(texts).items()]
        head = [f'based_on = "{name}"', "[[wordings]]", f'name = "mine {number}"']
        assert paradigm_of_files({"mine.toml": "\n".join([*head, *lines])}).wordings.given


OPTION_OF_A_DECOY = {"option": "{quality} dollars, {price} score"}


@pytest.mark.parametrize(
    ("base", "texts", "shown"),
    [
        ("choice/decoy", OPTION_OF_A_DECOY, "'$5,000 score'"),
        ("choice/certainty", {"risky_1": "{prize}{chance}"}, "'$2,50033%'"),
    ],
)
def test_a_number_with_two_units_is_to_be_looked_at(base, texts, shown):
    found = {each.code: each.said for each in check_design(reworded(base, **texts)).findings}
    assert shown in found["odd_units"]


@pytest.mark.parametrize(
    "name",
    slow_but(KINDS, [name for name in paradigms("*") if not name.startswith("published/")]),
)
def test_what_ships_has_no_number_with_two_units(name):
    assert "odd_units" not in [each.code for each in check_design(paradigm(name)).findings]


def test_check_shows_a_bet_and_as_what_each_answer_counts():
    told = check_lines(check_design(reworded("bets/coin", bet="My money goes on {side}")))
    assert told[1] == "prompt:"
    assert "    A) My money goes on heads" in told
    assert "counted: A is win (right), B is lose, C is none" in told


def test_a_study_tells_the_faults_of_all_its_files(tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text('based_on = "bets/nothing"\n')
    with pytest.raises(CogbiasError) as refused:
        with_declared({"paradigms": ["one.toml", "two.toml"]}, tmp_path)
    lines = str(refused.value).splitlines()
    assert [line.partition(", line ")[0].rpartition("/")[2] for line in lines] == [
        "one.toml",
        "two.toml",
    ]
