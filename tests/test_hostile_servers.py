"""Somebody else's server: who is asked, what may come back, what is kept of it, and how long it may take."""

from __future__ import annotations

from pathlib import Path

import pytest
from doubles import Double

from cogbias import cli
from cogbias.participants import participant
from cogbias.study import make_study, study_participant


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
