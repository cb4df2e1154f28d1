"Studies with a known true effect, of single answers or probabilities, made without the package."

from dataclasses import replace

import numpy as np
import pandas as pd

from cogbias.design import Contrast, paradigm, selected
from cogbias.arrays import Layout
from cogbias.effects import Analysis, decide, effects_table, estimate_contrast, smallest_of_interest

BETWEEN = 0.14  # standard deviation of effects between clusters, as a share of the scale
FOUND = ("present", "better")


class World:
    "The prompts of a headline, with how each is answered at a true effect."

    def __init__(self, name, exact):
        self.paradigm, self.exact = paradigm(name), exact
        self.contrast: Contrast = replace(self.paradigm.headline, by=())
        self.items = selected(self.paradigm.items(), self.contrast).reset_index(drop=True)
        self.layout = Layout(self.items)
        self.cluster = pd.factorize(self.items["cluster"])[0]
        self.side = np.where(self.items["condition"] == self.contrast.treatment, 1.0, -1.0)
        self.labels = [[each["label"] for each in shown] for shown in self.items["options"]]

    def draw(self, effect, draws):
        "Probability of each option of each prompt, in one study."
        if self.contrast.outcome == "right":
            return self._bets(effect, draws)
        apart = draws.normal(0, BETWEEN, self.cluster.max() + 1)[self.cluster]
        if self.contrast.outcome == "role":
            return self._choices(effect + apart)
        return self._numbers(effect, apart, draws)

    def _choices(self, effect):
        "The target has one half, more under treatment and less under control."
        weights = self.contrast.weights or {}
        reach = sum(map(abs, weights.values())) or 1.0
        sign = np.sign(self.items["stratum"].map(weights).to_numpy(float)) if weights else 1.0
        share = np.clip(0.5 + self.side * sign * effect / reach / 2, 0, 1)
        score = self.contrast.score
        best = max(score, key=score.get)
        rest = [name for name in score if name != best][0]
        return [
            np.array([{best: p, rest: 1 - p}.get(each["role"], 0.0) for each in shown])
            for shown, p in zip(self.items["options"], share)
        ]

    def _numbers(self, effect, apart, draws):
        "The middle of the range, moved; of a single answer, with a sixth of the range as noise."
        values = [np.array([each["value"] for each in shown]) for shown in self.items["options"]]
        low, high = (np.array([end(each) for each in values]) for end in (min, max))
        span, sign = high - low, self.side * self.contrast.direction
        unit = {"percentage points": 1.0, "scaled rating": span, "log ratio": (low + high) / 2}
        if self.contrast.unit == "index":
            gap = self.items.groupby("cluster")["anchor"].transform(np.ptp).to_numpy(float)
            high_anchor = self.items.groupby("cluster")["anchor"].transform("max")
            unit["index"], sign = gap, np.where(self.items["anchor"] == high_anchor, 1.0, -1.0)
        if "kappa" in self.items:  # of ratings: where the bias moves the treatment rating
            sign = -self.side * self.items["kappa"].to_numpy(float)
        mean = (low + high) / 2 + sign * (effect * unit[self.contrast.unit] + apart * span) / 2
        if not self.exact:
            mean = mean + draws.normal(0, 1, len(mean)) * span / 6
        return [_between(options, each, self.exact) for options, each in zip(values, mean)]

    def _bets(self, effect, draws):
        "A pair is known, or all of its questions are guessed."
        asked = zip(self.items["options"], self.items["right"])
        right = [each["label"] for shown, role in asked for each in shown if each["role"] == role]
        chance = pd.Series(right).value_counts(normalize=True).max()  # of one label throughout
        known = draws.random(self.cluster.max() + 1)[self.cluster] < effect / (1 - chance)
        right = known | (draws.random(len(known)) < chance)
        found = []
        for shown, role, hit in zip(self.items["options"], self.items["right"], right):
            is_right = np.array([each["role"] == role for each in shown])
            chosen = is_right if hit else ~is_right & (np.cumsum(~is_right) == 1)
            found.append(chosen.astype(float))
        return found

    def trials(self, effect, number):
        "The answers of one participant."
        draws = np.random.default_rng(number)
        shares = self.draw(effect, draws)
        table = self.items[["item_id", "condition", "pair_id", "cluster", "stratum"]].assign(
            paradigm=self.paradigm.name, participant=f"sim/{number}", status="ok"
        )
        table["trial_id"], table["value"], table["valid_mass"] = table["item_id"], None, None
        if self.exact:
            p = [dict(zip(labels, each.tolist())) for labels, each in zip(self.labels, shares)]
            return table.assign(method="option_probability", p=p, choice=None)
        luck = draws.random(len(shares))
        place = [int((each.cumsum() < at - 1e-12).sum()) for each, at in zip(shares, luck)]
        choice = [labels[at] for labels, at in zip(self.labels, place)]
        return table.assign(method="text", p=None, choice=choice)


def _between(options, value, exact):
    "Probabilities of options with this mean; all on the nearest, of a single answer."
    if not exact:
        return (np.arange(len(options)) == np.abs(options - value).argmin()).astype(float)
    order = np.argsort(options)
    at = np.interp(value, options[order], np.arange(len(options)))
    shares = np.zeros(len(options))
    shares[order[int(at)]] += 1 - at % 1
    shares[order[min(int(at) + 1, len(options) - 1)]] += at % 1
    return shares


def verdicts(name, exact, effect, studies):
    "What a run would say of participants with this true effect, each of whom is a family."
    world, rows = World(name, exact), []
    for number in range(studies):
        found = estimate_contrast(world.contrast, world.trials(effect, number), world.layout)[0]
        who = {"paradigm": name, "participant": f"sim/{number}", "headline": True}
        rows.append(found | who)
    analysis = Analysis(smallest={world.contrast.unit: smallest_of_interest(rows[0]).value})
    return decide(effects_table(rows), analysis)["verdict"]
