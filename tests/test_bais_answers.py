"""The reader on answers of models of 2025 and 2026, labelled by hand before the stored readings.

Two hundred of the raw answers of voder-ai/bAIs (MIT), drawn at random: file, line and label. A
label is a number, `refused`, or `range` where two numbers are given.
"""

import io
import json
import tarfile
from pathlib import Path

import pytest

from cogbias.choices import read_choice

HERE = Path(__file__).resolve().parent
ARCHIVE = HERE.parent.parent / "shared" / "data" / "published_answers" / "bais_2026.tar.xz"
LABELS = json.loads((HERE / "data" / "bais_labels.json").read_text())
ASKED = {
    "salary": "What salary, in thousands of dollars? Just the number.",
    "loan": "What loan, in thousands of dollars? Just the number.",
    "medical": "How urgent is it, from 1 to 100? Just the number.",
}
READ_AS = {"refused": {"refusal", "invalid_format"}, "range": {"invalid_format"}}


def raw_answers() -> dict[tuple[str, int], tuple[str, str]]:
    "File and line -> vignette and raw answer, of those that are labelled."
    wanted, found = {name for name, _, _ in LABELS}, {}
    with tarfile.open(fileobj=io.BytesIO(ARCHIVE.read_bytes())) as archive:
        for member in archive:
            name = member.name.partition("results/")[2]
            if name in wanted:
                for line, text in enumerate(archive.extractfile(member)):
                    row = json.loads(text) if text.strip() else {}
                    said = row.get("raw") or row.get("rawResponse") or ""
                    found[name, line] = row.get("vignetteId") or row.get("vignette") or "", said
    return found


@pytest.mark.skipif(not ARCHIVE.exists(), reason="the archive of published answers is not there")
def test_at_most_one_in_two_hundred_is_misread_and_two_in_a_hundred_unread() -> None:
    answers, misread, unread = raw_answers(), [], []
    for name, line, label in LABELS:
        vignette, text = answers[name, line]
        question = ASKED.get(vignette, "How many months? Just the number.")
        got = read_choice(text, [], "number", "stop", question=question)
        if got.status == "ok" and got.value != label:
            misread.append((name, line, label, got.value))
        elif got.status != "ok" and got.status not in READ_AS.get(label, set()):
            unread.append((name, line, label, got.detail))
    assert len(misread) <= 1, misread
    assert len(unread) <= 4, unread
