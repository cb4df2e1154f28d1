"The site of a small made-up outputs folder: what is there, what is inert, and nothing is fetched."

import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import cogbias.site.pages as site
from cogbias.tables import EFFECTS, CogbiasError, save_table
from cogbias.trials import slug

for needed in ("sphinx", "myst_nb", "pydata_sphinx_theme", "latex2mathml"):
    pytest.importorskip(needed)

HOSTILE = "ollama/<script>alert(1)</script>|*x*`[a](b)"
TRAP = "<img src=x onerror=alert(2)>"
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
NOTEBOOK = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}


def code(source: str, *outputs: dict, tags: tuple[str, ...] = ()) -> dict:
    return {
        "cell_type": "code",
        "id": f"c{abs(hash(source)) % 10**8}",
        "execution_count": 1,
        "metadata": {"tags": list(tags)},
        "source": source,
        "outputs": list(outputs),
    }


def markdown(source: str) -> dict:
    return {"cell_type": "markdown", "id": "m", "metadata": {}, "source": source}


def shown(**data: str) -> dict:
    return {
        "output_type": "display_data",
        "metadata": {},
        "data": {key.replace("_", "/"): value for key, value in data.items()},
    }


REPORT = [
    markdown(
        "# Report\n\n> From the template.\n\nThe effect is $\\Delta = a < b$.\n\n```{include} "
        "/etc/hostname\n```"
    ),
    code("model = 'secretparameter'", tags=("parameters",)),
    code("model = 'injectedparameter'", tags=("injected-parameters",)),
    code(
        "hidden_input()",
        shown(text_html=pd.DataFrame({"response": [TRAP, "zanzibarish"]}).to_html()),
        tags=("remove-input",),
    ),
    code("figure()", shown(image_png=PIXEL, text_plain="<Figure>")),
    code("print()", {"output_type": "stream", "name": "stdout", "text": f"said {TRAP}\n"}),
    code(
        "raw()",
        shown(text_html=f"<div>{TRAP}<iframe src='https://example.org'></iframe>", text_plain=""),
    ),
    code("md()", shown(text_markdown=f"**bold** {TRAP} ![x](https://example.org/x.png)")),
]


def effect(participant: str, **given: object) -> dict:
    return {
        **dict.fromkeys(EFFECTS.names),
        "paradigm": "choice/certainty",
        "participant": participant,
        "measure": "certainty_effect",
        "group": "all",
        "estimate": 0.2,
        "ci_low": 0.1,
        "ci_high": 0.3,
        "ci_level": 0.95,
        "method": "t",
        "target": "S",
        "n_items": 6,
        "n_trials": 6,
        "n_valid": 5,
        "n_clusters": 3,
        "unit": "probability",
        "status": "ok",
        "replication": False,
        **given,
    }


def write_report(
    outputs: Path, participant: str, paradigm: str, cells: list[dict], **run: object
) -> None:
    path = outputs / "reports" / slug(participant) / f"{slug(paradigm)}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"papermill": {"parameters": {"model": participant, "paradigm": paradigm}, **run}}
    path.write_text(
        json.dumps({**NOTEBOOK, "metadata": metadata, "cells": cells}), encoding="utf-8"
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "An outputs folder and three library notebooks."
    folder = tmp_path_factory.mktemp("site")
    write_report(folder / "outputs", "sim/human", "choice/certainty", REPORT)
    write_report(folder / "outputs", HOSTILE, "choice/certainty", REPORT, exception=True)
    write_report(folder / "outputs", "sim/human", "other/<b>own", REPORT)
    write_report(folder / "outputs", "sim/human", "logic/belief", REPORT)
    (folder / "outputs" / "reports" / "sim-human" / "logic-belief.ipynb").rename(
        folder / "outputs" / "reports" / "sim-human" / "logic-belief.running.ipynb"
    )
    save_table(
        pd.DataFrame(
            [
                effect("sim/human"),
                effect(HOSTILE, estimate=-0.1, ci_low=-0.4, ci_high=0.2, status="too_few_clusters"),
            ]
        ),
        folder / "outputs" / "effects.parquet",
    )
    library = {
        "00_words.ipynb": [
            markdown("# Words\n\n> What words mean.\n\nSee `measure`.\n\n$$\\frac{a}{b}$$"),
            code("#| default_exp words"),
            code("#| hide\nsecret_cell = 1"),
            code(
                "#| export\ndef measure(x: float,  # what is measured\n            ) -> float:\n  "
                '  "Measure it."\n    return x'
            ),
        ],
        "paradigms/choice/own.ipynb": [markdown("# Own paradigm\n\n> Mine. See `measure`.")],
        "reports/bias.ipynb": [markdown("# A template")],
    }
    for name, cells in library.items():
        path = folder / "nbs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**NOTEBOOK, "cells": cells}), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def pages(folder: Path) -> dict[str, str]:
    "The built site: path -> HTML."
    first = site.build_site(folder / "outputs", notebooks=folder / "nbs", strict=True)
    assert first == folder / "outputs" / "site" / "index.html"
    return {
        path.relative_to(first.parent).as_posix(): path.read_text(encoding="utf-8")
        for path in first.parent.rglob("*.html")
        if "_static" not in path.parts
    }


REPORT_PAGE = "results/participants/sim-human/choice-certainty.html"


def test_pages_are_there(pages: dict[str, str]) -> None:
    wanted = {
        "index.html",
        "search.html",
        "library.html",
        "00_words.html",
        "paradigms/index.html",
        "paradigms/choice/own.html",
        "results/index.html",
        REPORT_PAGE,
        "results/participants/sim-human/index.html",
        "results/paradigms/choice-certainty.html",
    }
    assert wanted <= set(pages)
    assert not any("template" in name or name.startswith("reports") for name in pages)
    assert all(re.search(r"<title>[^<]*\S[^<]*</title>", text) for text in pages.values())
    assert '<meta content="What words mean." name="description"' in pages["00_words.html"]


def test_results_are_shown(pages: dict[str, str]) -> None:
    overview = pages["results/index.html"]
    assert all(
        word in overview
        for word in (
            "+0.20",
            "+0.10 to +0.30",
            "−0.10",
            "too few clusters",
            "simulated",
            "5 of 6",
            "stopped with an error: 1.",
            "unfinished and not shown: 1.",
        )
    )
    assert 'href="../results/participants/sim-human/choice-certainty.html"' in overview
    assert "Ruggeri" in overview  # the people beside the models
    assert (pages["results/paradigms/choice-certainty.html"]).count('<svg class="interval') >= 2


def test_report(pages: dict[str, str]) -> None:
    text = pages[REPORT_PAGE]
    assert all(word in text for word in ("zanzibarish", "<math", "figure", "<strong>bold</strong>"))
    assert not any(
        word in text
        for word in ("secretparameter", "injectedparameter", "hidden_input", "From the template")
    )
    assert (
        Path("/etc/hostname").read_text().strip() + "\n</pre>" not in text and "{include}" in text
    )
    assert '<img alt="Figure: ' in text


def test_library_page(pages: dict[str, str]) -> None:
    text = pages["00_words.html"]
    assert "secret_cell" not in text and "#|" not in text
    assert "what is measured" in text and "tag_exported" in text and "<mfrac>" in text
    assert (
        'href="#function-cogbias-words-measure"' in text
        and 'href="../../00_words.html#function-cogbias-words-measure"'
        in pages["paradigms/choice/own.html"]
    )


def test_text_from_outside_is_inert(pages: dict[str, str]) -> None:
    for name, text in pages.items():
        assert "<script>alert" not in text, name
        assert not re.search(r"<(img|iframe)[^>]*(onerror|src=.?x\b|https?:)", text), name
    assert "&lt;img src=x onerror=alert(2)&gt;" in pages[REPORT_PAGE]
    hostile = next(
        text
        for name, text in pages.items()
        if "alert" in name and name.endswith("choice-certainty.html")
    )
    assert (
        "&lt;script&gt;alert(1)&lt;/script&gt;|*x*`[a](b)" in hostile
        and "stopped with an error" in hostile
    )


def test_nothing_is_fetched(pages: dict[str, str], folder: Path) -> None:
    for name, text in pages.items():
        assert not re.search(
            r"<(script|link|img|iframe|source|object)\b[^>]*\b(src|href|data)=[\"']?(https?:)?//",
            text,
        ), name
    for sheet in (folder / "outputs" / "site" / "_static").rglob("*.css"):
        assert not re.search(
            r"(@import|url\()\s*[\"']?(https?:)?//", sheet.read_text(encoding="utf-8")
        ), sheet.name


def test_the_picture_of_the_readme_is_on_no_site(pages: dict[str, str], folder: Path) -> None:
    assert (Path(__file__).resolve().parent.parent / "docs" / "static" / "overview.png").exists()
    assert pages and not list((folder / "outputs" / "site" / "_static").rglob("overview.png"))


def test_search_finds_a_word_of_a_report(pages: dict[str, str], folder: Path) -> None:
    index = (folder / "outputs" / "site" / "searchindex.js").read_text(encoding="utf-8")
    assert re.search(r'"?zanzibarish"?:', index) and "Words" in index


@pytest.mark.slow
def test_same_inputs_same_bytes_and_results_alone(
    pages: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site, "repository_notebooks", lambda: None)  # as in an installed package
    sites = [
        site.build_site(folder / "outputs", out=folder / name, strict=True).parent
        for name in ("one", "two")
    ]
    files = [
        {path.relative_to(each): path.read_bytes() for path in each.rglob("*") if path.is_file()}
        for each in sites
    ]
    assert files[0] == files[1]
    first = files[0][Path("index.html")].decode()
    assert (
        "results only" in first
        and Path("library.html") not in files[0]
        and "results only" not in pages["index.html"]
    )


def test_errors_say_what_to_do(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    for outputs in (tmp_path / "nowhere", tmp_path / "empty"):
        with pytest.raises(CogbiasError, match="holds no reports; run"):
            site.build_site(outputs)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with pytest.raises(CogbiasError, match="give a new or empty folder"):
        site.build_site(folder / "outputs", out=tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").exists()
    monkeypatch.setattr(site, "find_spec", lambda name: None if name == "sphinx" else name)
    with pytest.raises(CogbiasError, match=r"the site needs sphinx; install cogbias\[docs\]"):
        site.build_site(folder / "outputs")


def test_reports_without_an_effects_table(tmp_path: Path) -> None:
    write_report(tmp_path / "outputs", "sim/human", "choice/certainty", REPORT)
    site.stage_site(tmp_path / "outputs", tmp_path / "pages", None)
    overview = (tmp_path / "pages" / "results" / "index.md").read_text(encoding="utf-8")
    assert (
        "has no effects table" in overview
        and "sim/human" in overview
        and "choice-certainty.html" in overview
    )


def test_strict_names_the_page(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "nbs").mkdir()
    (tmp_path / "nbs" / "00_bad.ipynb").write_text(
        json.dumps({**NOTEBOOK, "cells": [markdown("# Bad\n\n$\\nosuchcommand$")]}),
        encoding="utf-8",
    )
    with pytest.raises(CogbiasError, match="00_bad.ipynb.*formula") as error:
        site.build_site(
            folder / "outputs", out=tmp_path / "site", notebooks=tmp_path / "nbs", strict=True
        )
    assert "\n" not in str(error.value) and not (tmp_path / "site").exists()


def test_import_is_light() -> None:
    code = (
        "import sys, cogbias.site.pages; print([name for name in ('sphinx', 'jinja2', "
        "'matplotlib', 'nbdev', 'scipy') if name in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )
