"""Somebody else's server: who is asked, what may come back, what is kept of it, and how long it may take."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import pytest
from doubles import Asked, Double
from hostile_double import BOMB, LISTS, REDIRECTS, TEXT, TOLERATED, HostileDouble, Shape, flood, raw

from cogbias import cli
from cogbias.design import CogbiasError, paradigm
from cogbias.elicitation import calls
from cogbias.participants import Participant, participant
from cogbias.study import make_study, study_participant
from cogbias.trials import TrialStore, collect

ITEMS = paradigm("choice/certainty").items()
LETTERS = ITEMS[
    ITEMS["options"].map(lambda options: {each["label"] for each in options} == {"A", "B"})
].drop_duplicates("prompt")
FEW, HIT = LETTERS.head(6), set(LETTERS["prompt"].iloc[[1, 4]])
TIMEOUT = 1.0  # seconds for an answer


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    "No settings of the machine."
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST", "OLLAMA_API_KEY"):
        monkeypatch.delenv(name, raising=False)


class TestNames:
    "A name is itself before it is a pattern."

    MODELS = ("openai/llama[4bit]", "openai/llama4", "openai/llama?", "openai/*")

    @pytest.mark.parametrize("model", MODELS)
    def test_settings_reach_the_model_that_is_named(self, model: str) -> None:
        study = make_study(
            models=list(self.MODELS),
            paradigms=["choice/certainty"],
            participants={name: {"max_tokens": n + 1} for n, name in enumerate(self.MODELS)},
        )
        assert study_participant(study, model).max_tokens == self.MODELS.index(model) + 1

    @pytest.mark.parametrize("model", MODELS)
    def test_the_address_reaches_the_model_that_is_named(
        self, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        "The default server, which has a key of its own, is never asked."
        monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")
        with Double() as default, Double() as meant:
            monkeypatch.setenv("OPENAI_BASE_URL", default.openai)
            arguments = ["run", "--model", model, "--paradigm", "choice/certainty", "--no-reports"]
            arguments += ["--where", "template=1", "--where", "design=common_ratio"]
            arguments += ["--base-url", meant.openai, "--set", "max_tokens=7"]
            try:
                cli.main([*arguments, "--outputs", str(tmp_path)])
            except SystemExit as ended:
                assert not ended.code
            assert not default.asked
            assert meant.asked
            assert 7 in {each.body.get("max_tokens") for each in meant.asked}

    def test_options_win_over_every_pattern_of_the_file(self, tmp_path: Path) -> None:
        file = tmp_path / "study.toml"
        file.write_text(
            'models = ["openai/tiny"]\nparadigms = ["choice/certainty"]\n'
            '[participants."openai/tiny"]\nmax_tokens = 5\nbase_url = "http://a/v1"\n'
            '[participants."openai/*"]\nbase_url = "http://b/v1"\nmax_tokens = 6\n'
        )
        study = cli._study(str(file), None, None, base_url="http://c/v1")
        who = study_participant(study, "openai/tiny")
        assert (who.base_url, who.max_tokens) == ("http://c/v1", 6)
        assert participant("openai/tiny").base_url is None


def at(double: Double, backend: str, **settings: object) -> Participant:
    "A participant in front of a double."
    url = double.openai if backend == "openai" else double.url
    return participant(f"{backend}/tiny", base_url=url, timeout=TIMEOUT, concurrency=3, **settings)


def hit(asked: Asked) -> bool:
    "Two of six prompts are answered in the shape under test; what is asked about the model is not."
    return asked.prompt in HIT


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    "Two attempts, and no pause between."
    monkeypatch.setattr(
        calls, "Retries", lambda attempts, pause, kind=calls.Retries: kind(2, 0.001)
    )


ALL = {**TEXT, **LISTS, **REDIRECTS, **TOLERATED}


@pytest.mark.usefixtures("hurried")
class TestShapes:
    "An answer in a shape that no protocol has costs that answer: not the cell, not the store, not the run."

    @pytest.mark.parametrize("backend", ["openai", "ollama"])
    @pytest.mark.parametrize("name", ALL)
    def test_a_shape_costs_its_answer(self, name: str, backend: str, tmp_path: Path) -> None:
        shape: Shape = ALL[name]
        store = TrialStore(tmp_path / "trials.jsonl")
        with HostileDouble(send=shape.send, hit=hit) as double:
            who = at(double, backend)
            assert shape.method in who.methods
            began = time.monotonic()
            if shape.ends == backend:
                with pytest.raises(CogbiasError, match="has no Ollama API there"):
                    collect(FEW, who, store, method=shape.method)
                assert set(store.read()["status"]) <= {"ok"}
                return
            done = collect(FEW, who, store, method=shape.method)
            assert time.monotonic() - began < 2 * 2 * TIMEOUT + 3
        assert done.planned == done.asked == len(FEW)
        table = store.read().merge(FEW[["item_id", "prompt"]], on="item_id").set_index("prompt")
        assert len(table) == len(FEW) and set(table.drop(list(HIT))["status"]) == {"ok"}
        for row in table.loc[list(HIT)].itertuples():
            wanted = shape.status if isinstance(shape.status, tuple) else (shape.status,)
            assert row.status in wanted, (row.status, row.detail)
            if row.status == "error":
                assert row.detail.startswith(f"{backend}: ") and row.detail.isprintable()
                assert 10 < len(row.detail) < 700
        with HostileDouble() as double:  # the store is as good as before
            again = collect(FEW, at(double, backend), store, method=shape.method)
        assert again.complete and set(store.read(again.trial_ids)["status"]) <= {
            "ok",
            *(["no_response"] if name in TOLERATED else []),
        }
