"Value questions in the one order of the paper."

import pytest

from cogbias.reporting.bets import TEMPLATES, VALUE
from test_accuracies import estimated, items_of, told, whole


def test_our_number_beside_the_papers_is_of_its_order() -> None:
    "Whoever takes the thing that is named first was shown with half of what the paper would see."
    items = items_of(VALUE, orders="published", splits=("test",))

    def first(item: dict) -> dict[str, float]:
        return {"high" if item["item_order"] == "hl" else "low": 1.0}

    name = "encoder/bert@default"
    found = estimated(VALUE, items, told(items, first)).assign(participant=name)
    assert whole(found).loc["right_share", "estimate"] == pytest.approx(0.5)
    in_order = found[found["measure"] == "right_share_as_published"].set_index("group")
    for template in TEMPLATES:
        assert in_order.loc[f"template={template}", "estimate"] == 1.0
