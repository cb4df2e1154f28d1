"""The matrix of small encoders, measured: how long it takes, and what comes out.

    python docs/small_matrix.py [folder]

Runs the study bets_small on two processes, in a new folder (or a temporary one), and writes
data/small_matrix.json. The machine should have nothing else to do.
"""

import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cogbias.backends.encoder import load_encoder, score_pairs
from cogbias.design import paradigm
from cogbias.kits.goods import Pair
from cogbias.paradigms.bets.value import value_question
from cogbias.running.studies import run_study
from cogbias.study import read_study, studies

JOBS = 2
TABLE = Path(__file__).resolve().parent.parent / "data" / "small_matrix.json"


# --- what was answered in the questions that an encoder was trained on, and in others ---------


def accuracies(
    effects: pd.DataFrame,  # an effects table
) -> pd.DataFrame:  # a row for each encoder and what it was asked
    "Right answers to the published test questions, and what they gain over a constant policy."
    rows = []
    for (who, name), each in effects.groupby(["participant", "paradigm"]):
        encoder, _, task = who.removeprefix("encoder/").partition("@")
        asked = name.removeprefix("bets/")
        is_value = asked == "value" and task.startswith("value")
        group = f"template={task[6:].upper()}" if is_value else "all"
        found = each[each["group"] == group].drop_duplicates("measure").set_index("measure")
        gain = found.loc["accuracy_gain"] if "accuracy_gain" in found.index else {}
        told = {"encoder": encoder, "task": task, "asked": asked}
        told |= {"own": is_value or asked in task.split("+")}
        told |= {"accuracy": found["estimate"].get("right_share"), "gain": gain.get("estimate")}
        rows.append(told | {"low": gain.get("ci_low"), "high": gain.get("ci_high")})
    return pd.DataFrame(rows)


# --- whether an encoder knows prices that nobody has told it ----------------------------------


def test_things() -> tuple[list[str], list[str]]:
    "The dear and the cheap things of the test."
    known = {"item_sets": ["published", "fresh"], "templates": ["BE"], "orders": "published"}
    items = paradigm("bets/value").items(splits=("test",), **known)
    return tuple(list(dict.fromkeys(items[name])) for name in ("high", "low"))


def preferences(
    folder: Path,  # of an encoder that was trained on a wording of the value questions
    template: str,  # the wording
    things: Sequence[str],  # each is put beside each
) -> tuple[np.ndarray, float]:  # things x things, and the share of the answer "the same"
    "In which share of the two orders a thing is held to be worth more than another."
    pairs = [(one, other) for one in things for other in things if one != other]
    asked = [value_question(template, Pair(*pair, 2.0, 1.0, "fresh", "test")) for pair in pairs]
    texts = [f"{question} {choice.text}" for question, choices in asked for choice in choices]
    scores = score_pairs(*load_encoder(folder), texts).reshape(len(pairs), 3)
    place = {thing: at for at, thing in enumerate(things)}
    found = np.zeros((len(things), len(things)))
    for (one, other), (first, second, _) in zip(pairs, scores):
        winner, loser = (one, other) if first > second else (other, one)
        found[place[winner], place[loser]] += 0.5
    return found, float((scores.argmax(axis=1) == 2).mean())


class PriceTest(NamedTuple):
    "How often the dear thing is preferred, beside prices that are dealt out at random."

    share: float  # of pairs of a dear and a cheap thing
    low: float  # within these limits it lies in 95% of the deals
    high: float
    p: float  # share of the deals with which it would be as high or higher


def price_test(
    preferred: np.ndarray,  # from preferences, or the mean of several
    dear: int,  # how many of the things are dear; they come first
    deals: int = 4999,
    seed: int = 0,
) -> PriceTest:
    """Whether the dear things are preferred more often than any others would be.

    Who has never read of a thing knows its name only, and names say nothing of prices: whatever
    the encoder prefers, the prices might as well be dealt out to the names in another way. So the
    deals are an exact reference, however much the answers of one encoder hang together.
    """

    def share(order: np.ndarray) -> float:
        return float(preferred[np.ix_(order[:dear], order[dear:])].mean())

    draw, found = np.random.default_rng(seed), share(np.arange(len(preferred)))
    dealt = np.array([share(draw.permutation(len(preferred))) for _ in range(deals)])
    low, high = np.quantile(dealt, [0.025, 0.975])
    as_high = int((dealt >= found - 1e-12).sum())
    return PriceTest(found, float(low), float(high), (1 + as_high) / (1 + deals))


def untold_prices(
    models: Path,  # the folder `models` of a study's results
    family: str = "small_untold",  # or small: they were told
) -> pd.DataFrame:  # a row for each encoder and wording, then one for all of them together
    "What encoders prefer that have read nothing of the things of the test."
    dear, cheap = test_things()
    rows, matrices = [], []
    for place in sorted(models.glob(f"*/{family}_*@value_*")):
        base, _, task = place.name.partition("@")
        is_other = base.removeprefix(f"{family}_").startswith("untold")
        if is_other or not (place / "config.json").exists():
            continue
        found, same = preferences(place, task[6:].upper(), [*dear, *cheap])
        matrices.append(found)
        told = {"encoder": base, "task": task, "says the same": same}
        rows.append(told | price_test(found, len(dear))._asdict())
    together = price_test(np.mean(matrices, axis=0), len(dear))._asdict()
    return pd.DataFrame([*rows, {"encoder": "all together", "task": "", **together}])


# --- the run ----------------------------------------------------------------------------------


def machine() -> dict[str, Any]:
    "Where it was measured."
    told = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = [line.partition(":")[2].strip() for line in told.splitlines() if "model name" in line]
    packages = {name: version(name) for name in ("torch", "transformers")}
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "others at work": round(os.getloadavg()[0], 2),  # load before the run
        "system": platform.platform(),
        "python": platform.python_version(),
        **packages,
    }


def measured(folder: Path) -> dict[str, Any]:
    "Run the matrix in a new folder, and say what came out."
    study, where, begun = read_study(studies()["bets_small"]), machine(), time.perf_counter()
    done = run_study(study, folder, jobs=JOBS, reports=False)
    seconds = time.perf_counter() - begun
    if done.failed:
        sys.exit("\n".join(done.failed))
    return summary(folder, done.effects) | {
        "measured": date.today().isoformat(),
        "machine": where,
        "jobs": JOBS,
        "encoders": len(study.models),
        "training": study.training,
        "seconds": round(seconds, 1),
    }


def summary(folder: Path, effects: pd.DataFrame) -> dict[str, Any]:
    "Accuracies and preferences of a folder, as they are stored."
    found = accuracies(effects).round(4)
    untold = untold_prices(folder / "models").round(4)
    rows = {"accuracies": found, "untold": untold}
    return {name: json.loads(table.to_json(orient="records")) for name, table in rows.items()}


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else place).absolute()
        if (folder / "models").exists():
            sys.exit(f"{folder}: holds trained encoders already; name a new folder")
        found = measured(folder)
    TABLE.write_text(json.dumps(found, indent=1), encoding="utf-8")
    print(f"{found['seconds']:.0f} seconds, written to {TABLE}")


if __name__ == "__main__":
    main()
