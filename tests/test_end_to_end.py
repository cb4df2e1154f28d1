"""One study, four kinds of participants, reports, a site: what a user does, with real software."""

import os
import subprocess
import sys

import pytest
from cogbias.folder import Folder, request_of
from cogbias.folder import trials as stored
from cogbias.running.status import folder_status
from conftest import CLI
from ollama_double import OllamaDouble
from servers import MISSING, llama_server, llama_server_binary

pytestmark = pytest.mark.slow  # every day each backend is asked by tests of its own

REAL = ("hf/tiny", "openai/tiny", "ollama/tiny")


@pytest.fixture(scope="module")
def asked():
    "The paradigms of the study 'backends', and what is asked in each."
    return {"choice/certainty": 96, "choice/decoy": 96}


@pytest.fixture(scope="module")
def finished(asked, tmp_path_factory):
    "What was asked, as a folder, and the environment that it ran in."
    if llama_server_binary() is None:
        pytest.skip(MISSING)
    from tiny_models import tiny_folder

    gguf, outputs = tiny_folder() / "tiny.gguf", tmp_path_factory.mktemp("backends")
    with (
        llama_server(gguf) as url,
        OllamaDouble(gguf, url, name="tiny:latest", parallel=4) as double,
    ):
        environment = {
            **os.environ,
            "OPENAI_BASE_URL": f"{url}/v1",
            "OLLAMA_HOST": double.url,
            "OPENAI_API_KEY": "sk-planted-0123456789abcdef",
        }
        run = cogbias(environment, *again(asked), "--outputs", str(outputs))
        assert run.returncode == 0, run.stderr + run.stdout
    yield outputs, environment  # the servers are gone: what follows only reads


def again(asked):
    "The command that runs the study."
    names = (part for name in asked for part in ("--paradigm", name))
    return ["run", "backends", "--max-prompts", "96", *names]


def cogbias(environment, *arguments):
    "The command line, as a user calls it."
    return subprocess.run(
        [sys.executable, "-c", CLI, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
    )


def trials(outputs, participant, paradigm):
    "The stored answers of one cell."
    with Folder(outputs) as folder:
        return stored(folder, [request_of(folder, participant, paradigm)])


def test_every_cell_is_complete(finished, asked):
    found = folder_status(finished[0])
    assert found.failed == [] and set(found.cells["method"]) == {"option_probability"}
    assert {
        (cell.participant.split()[0], cell.paradigm, cell.asked, cell.answers)
        for cell in found.cells.itertuples()
    } == {
        (who, paradigm, number, number)
        for who in ("sim/human", *REAL)
        for paradigm, number in asked.items()
    }


@pytest.mark.parametrize("other", REAL[1:])
def test_the_same_weights_answer_alike(finished, asked, other):
    for paradigm in asked:
        one, two = (
            trials(finished[0], name, paradigm).set_index("item_id") for name in ("hf/tiny", other)
        )
        two = two.loc[one.index]
        assert len(one) == len(two) == 96
        gaps = [abs(a[label] - b[label]) for a, b in zip(one["p"], two["p"]) for label in a]
        assert max(gaps) < 1e-3
        assert (one["valid_mass"] - two["valid_mass"]).abs().max() < 1e-3


def test_reports_and_site_are_made_without_the_servers(finished, asked):
    outputs, environment = finished
    reports = sorted((outputs / "reports").glob("*/*.ipynb"))
    assert len(reports) == 4 * len(asked)
    report = cogbias(environment, "report", str(outputs))
    assert report.returncode == 0, report.stderr
    site = cogbias(environment, "site", str(outputs))
    assert site.returncode == 0, site.stderr
    page = (
        outputs / "site" / "results" / "participants" / "ollama-tiny" / "choice-certainty.html"
    ).read_text(encoding="utf-8")
    assert "ollama/tiny" in page and "digest" in page and "Ollama 0." in page


def test_a_second_run_needs_no_server_until_an_answer_is_missing(finished, asked):
    outputs, environment = finished
    once_more = [*again(asked), "--outputs", str(outputs), "--no-reports"]
    run = cogbias(environment, *once_more)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("0 asked (nothing new)") == 8
    with Folder(outputs, writes=True) as folder:
        which = request_of(folder, "openai/tiny", "choice/certainty").procedure_id
        last = "select max(rowid) from answers where procedure_id = ?"
        folder.db.execute(f"delete from answers where rowid = ({last})", (which,))
    run = cogbias(environment, *once_more)
    failed = {line.split()[1] for line in run.stderr.splitlines() if line.startswith("failed")}
    assert (run.returncode, failed) == (1, {"openai/tiny"}), run.stderr
    assert "hf/tiny  choice/certainty: 96 stored, 0 asked" in run.stdout


def test_the_key_is_nowhere(finished):
    found = [
        path
        for path in finished[0].rglob("*")
        if path.is_file() and b"sk-planted-0123456789abcdef" in path.read_bytes()
    ]
    assert found == []
