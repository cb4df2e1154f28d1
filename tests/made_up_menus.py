"""Options of made-up questions, as an item holds them, for tests of readers."""

from typing import Any


def options(*texts: str, labels: Any = "ABCDEFGHIJ") -> list[dict[str, Any]]:
    "Options with letters, or other labels, and these texts."
    return [
        {"label": label, "text": text, "role": label, "value": None}
        for label, text in zip(labels, texts)
    ]
