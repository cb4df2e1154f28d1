"""A figure of cogbias in a notebook leaves all later figures shown, its own and the reader's."""

import pytest

pytest.importorskip("nbclient")

ROWS = """
import pandas as pd
import cogbias as cb
trials = pd.DataFrame({"condition": ["control"], "status": ["ok"]})
effects = cb.effects(cb.run("sim/human", "choice/certainty", outputs="o", reports=False).outputs)
"""
FIGURE = "cb.figures.status_bars(trials);"
FOREST = "cb.show(effects)"
OF_A_READER = "import matplotlib.pyplot as plt\nplt.plot([1, 2]);"


def figures_shown(*cells, folder):
    "How many images each cell of a notebook shows, executed by a kernel of its own."
    import nbformat
    from nbclient import NotebookClient

    new = nbformat.v4
    notebook = new.new_notebook(cells=[new.new_code_cell(each) for each in cells])
    NotebookClient(notebook, resources={"metadata": {"path": str(folder)}}).execute()
    return [
        sum(
            "image/png" in output.get("data", {}) or "<img" in str(output.get("data", {}))
            for output in cell.outputs
        )
        for cell in notebook.cells
    ]


@pytest.mark.parametrize(
    "first", [FOREST, pytest.param(FIGURE, marks=pytest.mark.slow)], ids=["show", "figure"]
)
def test_all_figures_after_the_first_are_shown(first, tmp_path):
    "None of them resolves the backend of matplotlib within a context that ends."
    shown = figures_shown(ROWS, first, FIGURE, FIGURE, OF_A_READER, folder=tmp_path)
    assert shown == [0, 1, 1, 1, 1]
