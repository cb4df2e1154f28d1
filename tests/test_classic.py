"The classic suite: invariants, wording, persona on the wire, planted effects, thesis formulas."

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tiers import every_few

from cogbias.backends.sim import (
    SimulatedParticipant,
    exact_trials,
    expected_effect,
    strength_in,
)
from cogbias.design import paradigm, paradigms, selected
from cogbias.effects import estimate_effects, prompt_scores
from cogbias.kits.classic import against, classic
from cogbias.kits.variants import PERSONA, VARIANTS, shared_words, variants_of
from cogbias.participants import Request
from cogbias.reporting.study import capped_table
from cogbias.stats.standardised import cohens_d, published_d
from test_counts import in_words

README = Path(__file__).parents[1] / "README.md"
SUITE = paradigms("classic/*")
QUESTION = {
    name: __import__(f"cogbias.paradigms.{name.replace('/', '.')}", fromlist=["QUESTION"])
    for name in SUITE
}
CHOICES = [name for name in SUITE if QUESTION[name].QUESTION.options]
THESIS = """anchoring category_size endowment framing
            gamblers_fallacy loss_aversion sunk_cost transaction_utility""".split()


@pytest.fixture(scope="module")
def tables():
    "The prompts of the suite by default."
    return {name: paradigm(name).items() for name in SUITE}


@pytest.fixture(scope="module")
def grids():
    "Every variant of every content set."
    return {
        name: paradigm(name).items(variants=[*variants_of(QUESTION[name].QUESTION)])
        for name in SUITE
    }


def test_the_eight_of_the_thesis_are_there():
    assert len(THESIS) == 8 and {f"classic/{name}" for name in THESIS} <= set(SUITE)


@pytest.mark.parametrize("name", SUITE)
def test_many_wordings_and_one_of_them_published(name, tables):
    table = tables[name]
    assert (
        table["content_set"].nunique() >= 40
        and table["cluster"].nunique() == table["content_set"].nunique()
    )
    assert table.loc[table["is_original"], "content_set"].nunique() == 1
    assert set(table["variant"]) <= set(VARIANTS) and {"base", "no_persona", "odd"} <= set(
        table["variant"]
    )
    assert (table.groupby(["variant", "content_set"])["condition"].nunique() == 2).all()


@pytest.mark.parametrize("name", SUITE)
def test_the_headline_is_of_all_wordings_and_other_variants_of_many(name, tables, grids):
    "The default asks at most 600 prompts; those of the published wording are all among them."
    table, grid = tables[name], grids[name]
    sets = table["content_set"].nunique()
    assert len(table) <= 600
    assert selected(table, paradigm(name).headline)["content_set"].nunique() == sets
    asked = table.groupby("variant")["content_set"].unique().map(set)
    assert len(asked["base"]) == sets and asked.map(len).min() >= 24
    assert asked.drop("base").map(sorted).map(tuple).nunique() == 1  # variants can be compared
    orders = 2 if name in CHOICES else 1
    assert len(grid) == sets * grid["variant"].nunique() * 2 * orders
    assert set(table["item_id"]) <= set(grid["item_id"])
    published = paradigm(name).items(contents="published")
    assert set(published["item_id"]) <= set(table["item_id"])


LEAD = re.compile("^the percentage of (them|it|its volume) that (are |is )?")  # not a story


def runs(content, length=5):
    "The runs of so many words in the phrases of a content set."
    for phrase in content.words.values():
        words = re.findall(r"[a-z']+", LEAD.sub("", phrase.lower()))
        for start in range(len(words) - length + 1):
            yield tuple(words[start : start + length])


def content_words(contents):
    "Words of four letters or more of each content set, without those that an eighth of them need."
    told = {
        each.name: set(re.findall(r"[a-z']{4,}", " ".join(each.words.values()).lower()))
        for each in contents
    }
    used = Counter(word for words in told.values() for word in words)
    of_the_frame = {word for word, sets in used.items() if sets > len(contents) / 8}
    return {name: words - of_the_frame for name, words in told.items()}


@pytest.mark.parametrize("name", SUITE)
def test_no_two_wordings_tell_the_same_story(name):
    "Clusters share no sentence or other run of five words, hardly a word, and not all numbers."
    contents = QUESTION[name].CONTENTS
    assert all(len(phrase.split()) < 3 for phrase in shared_words(contents))
    told, words = {each.name: set(runs(each)) for each in contents}, content_words(contents)
    for one, other in combinations(contents, 2):
        assert not told[one.name] & told[other.name], (one.name, other.name)
        assert len(shared := words[one.name] & words[other.name]) <= 3, (one, other, shared)
        assert one.variables != other.variables or len(one.variables) == 1, (one.name, other.name)


def test_the_readme_counts_the_wordings(tables):
    "What the first page says is what is declared."
    counts = {tables[f"classic/{name}"]["content_set"].nunique() for name in THESIS}
    said = re.search(r"four variants[^|]* and (\d+) wordings", README.read_text(encoding="utf8"))
    assert counts == {int(said.group(1))}


@pytest.mark.parametrize("name", SUITE)
def test_no_gap_is_left_and_no_text_repeats(name, grids):
    text = grids[name]["prompt"]
    assert not text.str.contains(r"[{}]|\[\[").any() and not text.str.contains("  ").any()
    assert grids[name]["item_id"].is_unique


@pytest.mark.parametrize("name", CHOICES)
def test_both_orders_are_asked_alike(name, grids):
    asked = grids[name].groupby(["variant", "condition", "content_set"])
    for _, rows in asked:
        first, second = rows["target_position"]
        assert first + second == rows["n_options"].max() + 1
        assert first != second or rows["n_options"].max() % 2  # the middle stays in the middle


@pytest.mark.parametrize("name", SUITE)
def test_persona_only_where_the_variant_has_one(name, grids):
    table = grids[name]
    count = (table["system"].fillna("") + table["prompt"]).map(lambda text: text.count(PERSONA))
    assert (count == (table["variant"] != "no_persona").astype(int)).all()


def test_durations_and_chances_never_scale(tables):
    assert tables["classic/transaction_utility"]["prompt"].str.contains("20 minutes").all()
    assert tables["classic/loss_aversion"]["prompt"].str.contains("50%").all()


@pytest.mark.parametrize("name", SUITE)
def test_scaled_numbers_differ_from_the_published_ones(name, grids):
    "The numbers of a variant are its own: none of the base is left, unless it never scales."
    table = grids[name]
    numbers = {
        variant: part["prompt"].map(lambda text: tuple(re.findall(r"\d[\d,]*", text))).tolist()
        for variant, part in table.groupby("variant")
    }
    assert numbers["base"] == numbers["no_persona"] and numbers["base"] != numbers["odd"]


@pytest.mark.parametrize("name", SUITE)
def test_planted_effects(name, tables):
    bias, table = paradigm(name), tables[name]
    planted = {"human", "mirror"} & {*bias.rules}
    unbiased = {"random", *({*bias.trivial} & {*bias.rules})}
    found = {
        model: estimate_effects(exact_trials(model, table), table, bias).iloc[0]
        for model in planted | unbiased
    }
    assert {"human"} <= planted and {"rational", "random"} <= unbiased
    assert found["human"]["estimate"] > 0.05
    assert "mirror" not in planted or found["mirror"]["estimate"] < -0.05
    for model in unbiased:
        assert abs(found[model]["estimate"]) < 1e-9, model
        scores = prompt_scores(exact_trials(model, table), table, bias.headline)
        means = scores.groupby(["cluster", "condition"])["score"].mean().unstack()
        assert means["treatment"].tolist() == pytest.approx(means["control"].tolist()), model
    if name in CHOICES:
        for model in planted:
            assert math.isclose(
                found[model]["estimate"],
                expected_effect(SimulatedParticipant(model), table, bias.headline),
                abs_tol=1e-12,
            )


def test_three_options_from_declaration_to_effect():
    "A third answer is asked, scored, decided on by simulated participants, and read from words."
    module = QUESTION["classic/framing"]
    answers = {"buy": "Yes", "target": "No", "either": "I do not know"}
    asked = replace(module.QUESTION, options=dict.fromkeys(module.QUESTION.frames, answers))
    effect = against("framing_effect", "Not buying, ticket lost minus cash lost")
    third = classic(module.ABOUT, asked, effect, rules=module.PARADIGM.rules)
    table = third.items(variants=["base"])
    assert {tuple(each["label"] for each in options) for options in table["options"]} == {
        tuple("ABC")
    }
    found = estimate_effects(exact_trials("human", table), table, third).iloc[0]["estimate"]
    refuses = [1 / (2 + math.exp(want)) for want in (2.0, 2.0 - 2.15)]  # utilities of buying
    strength = table.drop_duplicates("cluster").apply(strength_in, axis=1).mean()
    assert math.isclose(found, strength * (refuses[1] - refuses[0]), abs_tol=1e-12)
    rows = [Request(row, 0, seed) for seed, row in enumerate(table.to_dict("records"))]
    said = [answer for _, answer in SimulatedParticipant("human").answers(rows, "text")]
    assert {answer.role for answer in said} == {*answers}


@pytest.mark.parametrize("name", every_few(3, SUITE))
def test_every_simulated_participant_can_talk_about_every_prompt(name, tables):
    for model in ("human", "random", "position", "messy"):
        rows = [Request(row, 0, seed) for seed, row in enumerate(tables[name].to_dict("records"))]
        statuses = [
            answer.status for _, answer in SimulatedParticipant(model).answers(rows, "text")
        ]
        assert statuses.count("ok") >= 0.6 * len(statuses), (model, name)
        assert model == "messy" or statuses.count("ok") == len(statuses), (model, name)


@pytest.mark.parametrize("name", [name for name in SUITE if name not in CHOICES])
def test_what_is_said_in_words_of_its_own_is_read_again(name, tables):
    trials = in_words(tables[name])
    effects = estimate_effects(trials, tables[name], paradigm(name))
    assert trials["choice"].notna().any()
    assert np.isfinite(effects["estimate"].iloc[0])


# the formulas of the thesis, for a choice answered a hundred times in each group
@pytest.mark.parametrize(
    "ones, sample, population",
    [
        ((0, 99), 14.00071, 14.07125),
        ((0, 98), 9.84987, None),
        ((40, 60), 0.40620, None),
        ((0, 1), 0.14142, None),
    ],
)
def test_published_effect_sizes(ones, sample, population):
    control, treatment = (np.repeat([1.0, 0.0], [n, 100 - n]) for n in ones)
    assert math.isclose(cohens_d(treatment, control).estimate, sample, abs_tol=6e-6)
    if population:
        assert math.isclose(published_d(treatment, control), population, abs_tol=6e-6)


def test_zero_variance_has_a_status():
    same, apart = cohens_d(np.ones(100), np.ones(100)), cohens_d(np.ones(100), np.zeros(100))
    assert (same.estimate, same.status) == (0.0, "degenerate_zero_variance")
    assert (apart.estimate, apart.status) == (math.inf, "separated") and cohens_d(
        np.zeros(100), np.ones(100)
    ).estimate == -math.inf
    assert published_d(np.ones(100), np.zeros(100)) == 0.0  # as the published code has it


def test_the_order_of_capping_matters():
    cells = pd.DataFrame({"estimate": (3.0, -0.5, 0.1, 0.2), "measure": "standardised_difference"})
    (found,) = capped_table(
        cells.assign(participant="m", paradigm="p", group="variant=base")
    ).to_dict("records")
    assert math.isclose(found["cut after"], 0.7)
    assert math.isclose(found["cut before"], (1 + 0 + 0.1 + 0.2) / 4)


def test_the_drum_as_specified(tables):
    "Sizes scale, labels follow: no ball without a colour, no colour twice."
    drum = tables["classic/category_size"]
    drum = drum[drum["is_original"]]
    for variant, total in (("base", 15), ("odd", 147), ("large", 833_334)):
        prompts = drum.loc[drum["variant"] == variant, "prompt"]
        assert prompts.str.contains(f"{total:,}", regex=False).all(), variant
        assert math.isclose(drum.loc[drum["variant"] == variant, "truth"].iloc[0], 100 / total)


@pytest.mark.parametrize("backend", ["openai", "ollama"])
@pytest.mark.parametrize(
    "style, role", [("default", "system"), ("documented", "system"), ("executed", "user")]
)
def test_the_persona_arrives_exactly_once(backend, style, role):
    "A server gets the persona once where the variant has one, where the style puts it, only there."
    from doubles import Double

    from cogbias.participants import participant

    items = paradigm("classic/sunk_cost").items(
        variants=["base", "no_persona"], contents="published", counterbalance=False, style=style
    )
    with Double() as double:
        who = participant(
            f"{backend}/tiny", base_url=double.openai if backend == "openai" else double.url
        )
        asked = [Request(row, 0, 0) for row in items.to_dict("records")]
        assert len(list(who.answers(asked, "text"))) == len(items)
        sent = [each.body["messages"] for each in double.asked]
    for row in items.to_dict("records"):
        mine = [
            messages
            for messages in sent
            if messages[-1]["content"] == row["prompt"]
            and (row["system"] is None or messages[0]["content"] == row["system"])
        ]
        assert len(mine) == 1, (row["variant"], row["condition"])
        where = [each["role"] for each in mine[0] for _ in range(each["content"].count(PERSONA))]
        assert where == ([role] if row["variant"] == "base" else [])
        assert sum(each["role"] == "system" for each in mine[0]) == (
            0 if style == "executed" else 1
        )


def test_a_model_without_a_system_role_gets_the_persona_in_the_prompt():
    "Without system messages the text goes before the question, once, and the record says so."
    from cogbias.backends.hf import takes_system
    from cogbias.participants import participant

    item = (
        paradigm("classic/sunk_cost")
        .items(variants=["base"], contents="published")
        .iloc[0]
        .to_dict()
    )
    who = participant("hf/tiny")
    text = who.tokenizer.decode(who.prompts([item])[0])
    assert text.count(PERSONA[:40]) == 1
    if takes_system(who.tokenizer):
        who.tokenizer.chat_template = (
            "{% for m in messages %}{% if m['role'] == 'system' %}{{ "
            "raise_exception('no system role') }}{% endif %}<|im_start|>{{ m['role'] }}\n{{ "
            "m['content'] }}<|im_end|>\n{% endfor %}"
        )
        assert not takes_system(who.tokenizer)
        folded = who.tokenizer.decode(who.prompts([item])[0])
        assert (
            folded.count(PERSONA[:40]) == 1
            and who.facts()["system_messages"] == "in front of the prompt"
        )


@pytest.mark.parametrize("name", SUITE)
def test_the_tiny_model_understands_what_is_asked(name, grids):
    "Its hand-set weights answer by single words of the prompt; none of them may mislead it here."
    from tiny_models import tiny_probabilities

    for row in grids[name].to_dict("records"):
        kinds = set(tiny_probabilities(f"{row['system']}\n{row['prompt']}"))
        assert (kinds == {"A", "B"}) == (name in CHOICES), row["prompt"]
