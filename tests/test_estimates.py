"""What the effects table promises of every estimate, over all paradigms."""

import pytest

from cogbias.backends.sim import exact_trials
from cogbias.design import EFFECTS, load_table, paradigm, paradigms, save_table
from cogbias.effects import decide, estimate_effects

NAMES = [name for name in paradigms() if name != "choice/decoy"]  # its 11,232 prompts add nothing


@pytest.fixture(scope="module")
def tables():
    "Effects of the human and the rational participant, by paradigm."
    found = {}
    for name in NAMES:
        items = paradigm(name).items()
        for who in ("human", "rational"):
            effects = estimate_effects(exact_trials(who, items), items, paradigm(name))
            found[name, who] = decide(effects)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_p_value_names_its_procedure(tables, name):
    for who in ("human", "rational"):
        rows = tables[name, who]
        assert rows.p_value.notna().equals(rows.p_method.notna()), (name, who)


def test_effects_of_before_have_no_p_method(tables, tmp_path):
    older = tables["choice/certainty", "human"].drop(columns="p_method")
    read = load_table(save_table(older, tmp_path / "effects.parquet"), EFFECTS)
    assert read.p_method.isna().all() and len(read) == len(older)
