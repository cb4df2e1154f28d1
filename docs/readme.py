"""Write README.md from nbs/index.ipynb: prose as it is, code with output only where it is text."""

from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent


def readme() -> str:
    "The README as markdown."
    parts = []
    for cell in nbformat.read(ROOT / "nbs" / "index.ipynb", as_version=4).cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source.replace("](../", "]("))
        elif cell.cell_type == "code" and not cell.source.startswith("#| hide"):
            parts.append(f"```python\n{cell.source}\n```")
            parts += [
                "```\n" + output["data"]["text/plain"].rstrip() + "\n```"
                for output in cell.outputs
                if "text/plain" in output.get("data", {})
            ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    (ROOT / "README.md").write_text(readme(), encoding="utf-8")
