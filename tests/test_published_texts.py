"What the page on published answers says of texts that do not ship, counted in the archive."

import contextlib
import io
import json
import re
import tarfile
from pathlib import Path

import nbformat
import pandas as pd
import pytest

from cogbias.design import paradigm
from cogbias.exchange.pagliaro import (
    ARTICLES,
    BIASES,
    OUTCOMES,
    REFUSALS,
    published_choice,
    still_read_as_a,
)
from cogbias.paradigms.published.pagliaro_representativeness import PAIRS
from cogbias.tables import shipped

HERE = Path(__file__).parents[1]
ARCHIVE = HERE.parent / "shared" / "data" / "published_answers" / "pagliaro_2026.tar.gz"
KEYS = ["model", "arm", "content_set", "condition", "repeat"]
needs_texts = pytest.mark.skipif(not ARCHIVE.exists(), reason="the published answers are not here")


@pytest.fixture(scope="module")
def page():
    "Everything that is written in the page."
    cells = nbformat.read(HERE / "nbs" / "published" / "pagliaro.ipynb", as_version=4).cells
    return "\n\n".join(cell.source for cell in cells)


@pytest.fixture(scope="module")
def answers():
    "The shipped facts beside the texts of the archive, with the columns of an export."
    texts = []
    with tarfile.open(ARCHIVE) as archive:
        for member in archive.getmembers():
            if not re.search(r"raw_responses/.*\.json$", member.name):
                continue
            told = json.load(archive.extractfile(member))
            if told["bias_name"] not in BIASES:
                continue
            for pair in told["variants"]:
                for side in ("control", "treatment"):
                    key = (told["model_name"], told["strategy"], pair["variant_id"], side)
                    said = enumerate(pair[f"{side}_responses"])
                    texts += [(*key, repeat, text) for repeat, text in said]
    facts = pd.read_parquet(shipped("data", "published", OUTCOMES))
    facts = facts.astype({name: object for name in KEYS[:4]})
    texts = pd.DataFrame(texts, columns=[*KEYS, "response"])
    return facts.merge(texts, on=KEYS, how="left", validate="one_to_one")


def counts():
    "The shipped counts of refusals."
    return pd.read_csv(shipped("data", "published", REFUSALS))


@needs_texts
def test_the_shipped_counts_are_those_of_the_texts(answers):
    "Prompt by prompt, from the archive and without what made them."
    mine = answers["status"].eq("refusal") & answers["published_choice"].eq("A")
    told = pd.DataFrame([still_read_as_a(text) for text in answers[mine]["response"]])
    places = answers.loc[mine, KEYS[:4]].reset_index(drop=True)
    again = places.assign(read_as_a=1).join(told.astype(int)).groupby(KEYS[:4]).sum()
    shipped_counts = counts().set_index(KEYS[:4]).sort_index()
    assert again.sort_index().to_dict("index") == shipped_counts.to_dict("index")


def test_the_page_computes_what_it_says_of_texts(page):
    "No count of refusals is typed, in a cell or in a sentence."
    for number in counts()[["read_as_a", *ARTICLES]].sum():
        assert not re.search(rf"\b{number}\b", page), number


@needs_texts
def test_the_lines_of_the_page_count_what_the_page_says(page, answers, tmp_path, monkeypatch):
    "Refusals that were read as A, and how many still are without any article."
    (lines,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    read, kept, strictly = counts()[["read_as_a", *ARTICLES]].sum()
    monkeypatch.chdir(tmp_path)
    answers.to_csv("answers.csv", index=False)
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(lines, {})
    assert re.search(rf"^A\s+{read}$", said.getvalue(), re.MULTILINE)
    assert f"\n{kept} {read - kept}\n{strictly} {read - strictly}\n" in said.getvalue()


@needs_texts
@pytest.mark.parametrize("pair", ["sunkcost_v2", "representativeness_v4"])
def test_two_cases_come_from_the_article_alone(answers, pair):
    of_claude = answers["model"].eq("claude-3.5-sonnet") & answers["content_set"].eq(pair)
    read = answers[of_claude & answers["published_choice"].eq("A")]
    without = read["response"].str.replace(r"\ba\b", "", regex=True)
    again = [published_choice(text, ("A", "B")) for text in without]
    assert len(read) > 90 and again.count("A") == 0


def test_the_article_is_not_the_one_cause_for_refusals(page):
    assert "have an article in them and were read as yes" not in page
    assert "repeats what was offered" in page.split("## The answers")[0]


def test_pairs_that_add_no_stereotype_say_so():
    "A headline over such pairs is no measure of what a stereotype adds."
    bias = paradigm("published/pagliaro_representativeness")
    assert not any("the effect is what more stereotype adds" in each for each in bias.caveats)
    remarks = {pair.name[-2:]: pair.remark for pair in PAIRS if pair.same_facts}
    assert remarks["v1"] == ""
    assert "no answer is right" in remarks["v3"] and "no bearing" in remarks["v4"]
