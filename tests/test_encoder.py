"""Encoders beyond their notebook: four architectures, order and batches, bad checkpoints, a run."""

import json
import math
import pickle
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from cogbias.backends import encoder  # noqa: E402
from cogbias.backends.encoder import (  # noqa: E402
    encoder_class,
    load_encoder,
    score_pairs,
    to_safetensors,
)
from tiny_models import ENCODERS, encoder_config, encoder_tokenizer  # noqa: E402
from cogbias.participants import Request, participant  # noqa: E402
from cogbias.tables import EFFECTS, CogbiasError, item_table, load_table, option  # noqa: E402

THINGS = ("car", "pen", "house", "sock", "computer", "slipper")
ROLES = {
    "win": "I should bet on heads",
    "lose": "I should bet on tails",
    "none": "I should not bet on either one",
}


def question(first: str, second: str) -> str:
    return (
        f"If the coin comes up heads, then I win a {first}. If it comes up tails, then I lose a "
        f"{second}. What should I do to maximize my expected gains?"
    )


TEXTS = [
    f"{question(first, second)} {choice}"
    for first in THINGS
    for second in THINGS
    for choice in ROLES.values()
]


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    "A folder of each family, as save_pretrained writes it, with weights drawn at random."
    home = tmp_path_factory.mktemp("encoders")
    for family in ENCODERS:
        tokenizer = encoder_tokenizer(family, TEXTS, 400)
        config = encoder_config(family, tokenizer, positions=256, initializer_range=0.3)
        torch.manual_seed(2)
        encoder_class(config)(config).save_pretrained(home / family)
        tokenizer.save_pretrained(home / family)
    return {family: home / family for family in ENCODERS}


@pytest.fixture
def bert(checkpoints: dict[str, Path], tmp_path: Path) -> Path:
    "A BERT, to be damaged."
    return Path(shutil.copytree(checkpoints["bert"], tmp_path / "bert"))


def bets(things: tuple[str, ...] = THINGS, orders: int = 3, answer: str = "choice") -> pd.DataFrame:
    "Bets, each in some orders of its options."
    rows = [
        {
            "condition": "bet",
            "pair_id": f"{high}-{low}",
            "cluster": high,
            "stratum": "all",
            "answer": answer,
            "prompt": f"{question(high, low)} A, B or C? ({turn})",
            "options": [
                option("ABC"[at], ROLES[role], role)
                for at, role in enumerate([*ROLES][turn:] + [*ROLES][:turn])
            ],
            "content": {"question": question(high, low)},
        }
        for high in things
        for low in things
        if high != low
        for turn in range(orders)
    ]
    return item_table("example/bets", rows)


def refused(call, *said: str) -> str:
    with pytest.raises(CogbiasError) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text and all(each in text for each in said), text
    return text


@pytest.mark.parametrize("family", ENCODERS)
def test_a_score_depends_on_its_text_alone(checkpoints, family):
    model, tokenizer = load_encoder(checkpoints[family])
    texts = TEXTS[:30]
    alone = np.concatenate([score_pairs(model, tokenizer, [text]) for text in texts])
    assert alone.dtype == np.float64 and alone.std() > 0
    shuffled = np.random.default_rng(0).permutation(len(texts))
    for size in (1, 4, 7, 100):
        together = score_pairs(model, tokenizer, [texts[at] for at in shuffled], size)
        assert np.abs(together - alone[shuffled]).max() < 1e-5 * max(1, np.abs(alone).max())


@pytest.mark.parametrize("family", ENCODERS)
def test_scores_are_those_of_transformers_by_hand(checkpoints, family):
    "The plain loop: one question at a time, its three pairs as transformers wants them."
    place = checkpoints[family]
    tokenizer = transformers.AutoTokenizer.from_pretrained(place)
    one_output = family == "deberta"
    known = transformers.AutoModelForSequenceClassification
    model = (known if one_output else transformers.AutoModelForMultipleChoice).from_pretrained(
        place
    )
    pairs = tokenizer(TEXTS[:3], padding=True, return_tensors="pt")
    with torch.no_grad():
        given = pairs if one_output else {name: each[None] for name, each in pairs.items()}
        by_hand = model.eval()(**given).logits.flatten().tolist()
    ours = score_pairs(*load_encoder(place), TEXTS[:3])
    assert np.allclose(ours, by_hand, atol=1e-5)


def test_each_distinct_pair_is_read_once(checkpoints, monkeypatch):
    read = []
    plain = encoder._logits
    monkeypatch.setattr(
        encoder,
        "_logits",
        lambda model, rows, width: read.extend(rows) or plain(model, rows, width),
    )
    who = participant(f"encoder/{checkpoints['roberta']}", batch_size=8)
    requests = [Request(item, 0, at) for at, item in enumerate(bets().to_dict("records"))]
    answers = dict(who.answers(requests, "encoder"))
    assert len(answers) == len(requests) == 90 and len(read) == 90  # 270 pairs, each thrice
    assert len({tuple(row) for row in read}) == 90
    by_role = [
        {each["role"]: answers[at].logits[each["label"]] for each in request.item["options"]}
        for at, request in enumerate(requests)
    ]
    assert all(by_role[at] == by_role[at - at % 3] for at in range(90))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_another_precision_is_another_participant(checkpoints, dtype):
    plain = participant(f"encoder/{checkpoints['roberta']}")
    coarse = participant(f"encoder/{checkpoints['roberta']}", dtype=dtype)
    assert coarse.name == f"{plain.name} dtype={dtype}" and coarse.identity != plain.identity
    fine, rough = (score_pairs(*who.loaded, TEXTS[:9]) for who in (plain, coarse))
    assert 0 < np.abs(fine - rough).max() < 0.2 * np.abs(fine).max()


@pytest.fixture(scope="module")
def beside(checkpoints, tmp_path_factory) -> Path:
    "Two encoders and a simulated participant in one folder."
    out = tmp_path_factory.mktemp("beside")
    for model in (f"encoder/{checkpoints['bert']}", f"encoder/{checkpoints['roberta']}"):
        run_bets(model, out)
    run_bets("sim/type_only", out)
    return out


def run_bets(model: str, out: Path) -> None:
    from cogbias.running import run_study
    from cogbias.study import make_study

    published = {"bets/coin": {"item_sets": ["published"], "splits": ["test"]}}
    study = make_study(models=[model], paradigms=["bets/coin"], settings=published)
    assert run_study(study, out, reports=False).failed == []


def test_an_encoder_cannot_see_the_order_of_options(beside):
    "Read as chances, scores that lie close together would look like a liking for places."
    effects = load_table(beside / "effects.parquet", EFFECTS)
    mine = effects[effects["participant"].str.startswith("encoder/")].set_index("measure")
    assert (mine.loc["order_consistency", "estimate"] == 1).all()
    assert (mine.loc["position_locked", "estimate"] == 0).all()


def edit_config(place: Path, **change) -> None:
    config = json.loads((place / "config.json").read_text())
    (place / "config.json").write_text(json.dumps(config | change))


def without_tokenizer(place: Path) -> None:
    for file in place.glob("tokenizer*"):
        file.unlink()


def unpadded(place: Path) -> None:
    tokenizer = encoder_tokenizer("bert", TEXTS, 400)
    tokenizer.pad_token = None
    without_tokenizer(place)
    tokenizer.save_pretrained(place)


def other_head(labels: int) -> object:
    def replace(place: Path) -> None:
        config = transformers.AutoConfig.from_pretrained(place)
        config.id2label = {0: "entailment", 1: "neutral", 2: "contradiction"}
        config.num_labels = labels
        transformers.BertForSequenceClassification(config).save_pretrained(place)

    return replace


def headless(place: Path) -> None:
    config = transformers.AutoConfig.from_pretrained(place)
    transformers.BertForMaskedLM(config).save_pretrained(place)


def without_a_layer(place: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(place / "model.safetensors")
    del weights["bert.encoder.layer.1.attention.self.query.weight"]
    save_file(weights, place / "model.safetensors", {"format": "pt"})


def torn(place: Path) -> None:
    whole = (place / "model.safetensors").read_bytes()
    (place / "model.safetensors").write_bytes(whole[: len(whole) // 2])


def without_its_second_part(place: Path) -> None:
    (place / "model.safetensors").rename(place / "model-00001-of-00002.safetensors")
    parts = {"bert.pooler.dense.bias": "model-00002-of-00002.safetensors"}
    index = {"metadata": {}, "weight_map": parts}
    (place / "model.safetensors.index.json").write_text(json.dumps(index))


FAULTS = {
    "no head for it": (lambda place: edit_config(place, model_type="gpt2"), "architecture 'gpt2'"),
    "unknown kind": (
        lambda place: edit_config(place, model_type="oracle"),
        "config.json cannot be read",
    ),
    "no tokenizer": (without_tokenizer, "holds no tokenizer"),
    "no padding": (unpadded, "its tokenizer has no padding token"),
    "another padding": (
        lambda place: edit_config(place, pad_token_id=3),
        "its tokenizer is not that of its model",
    ),
    "another vocabulary": (
        lambda place: edit_config(place, vocab_size=20),
        "its tokenizer is not that of its model",
    ),
    "three labels": (other_head(3), "3 outputs: entailment, neutral, contradiction"),
    "a regression": (other_head(1), "the head of another task (BertForSequenceClassification"),
    "never trained": (headless, "its head was never trained for choosing"),
    "a layer missing": (without_a_layer, "holds no values for 1 of its weights, bert.encoder.la"),
    "torn": (torn, "safetensors cannot be read"),
    "a part missing": (without_its_second_part, "get the whole checkpoint again"),
    "its own code": (
        lambda place: edit_config(place, auto_map={"AutoModel": "m.Model"}),
        "brings its own code",
    ),
    "no weights": (lambda place: (place / "model.safetensors").unlink(), "convert it: python -c"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_checkpoint_that_cannot_be_asked_is_refused_in_a_line(bert, fault):
    damage, said = FAULTS[fault]
    damage(bert)
    refused(lambda: load_encoder(bert), said)
    requests = [Request(item, 0, 0) for item in bets(THINGS[:2]).to_dict("records")]
    who = participant(f"encoder/{bert}")
    refused(lambda: list(who.answers(requests, "encoder")), said)


@pytest.mark.parametrize("family", ENCODERS)
def test_a_fresh_head_is_asked_for_by_its_seed_and_said(checkpoints, tmp_path, family, caplog):
    place = Path(shutil.copytree(checkpoints[family], tmp_path / family))
    config = transformers.AutoConfig.from_pretrained(place)
    transformers.AutoModelForMaskedLM.from_config(config).save_pretrained(place)
    refused(lambda: load_encoder(place), "never trained", "fresh_head=0")
    scores = [score_pairs(*load_encoder(place, fresh_head=seed), TEXTS[:6]) for seed in (4, 4, 5)]
    assert np.array_equal(scores[0], scores[1]) and not np.allclose(scores[0], scores[2])
    who = participant(f"encoder/{place}", fresh_head=4)
    assert who.name.endswith(" fresh_head=4")
    requests = [Request(item, 0, 0) for item in bets(THINGS[:2], 1).to_dict("records")]
    assert len(list(who.answers(requests, "encoder"))) == 2
    assert "head that was never trained; its answers are random" in caplog.text
    assert "never trained" in who.facts()["warning"]
    refused(lambda: load_encoder(checkpoints[family], fresh_head=0), "leave fresh_head out")


def test_scores_that_are_no_numbers_stop(bert):
    from safetensors.torch import load_file, save_file

    weights = load_file(bert / "model.safetensors")
    weights["classifier.bias"][:] = math.nan
    save_file(weights, bert / "model.safetensors", {"format": "pt"})
    refused(lambda: score_pairs(*load_encoder(bert), TEXTS[:2]), "no finite numbers", "damaged")


def test_a_text_that_is_too_long_is_refused_and_not_cut(checkpoints):
    for family in ("bert", "roberta"):
        model, tokenizer = load_encoder(checkpoints[family])
        word = next(iter(THINGS))
        fits = " ".join([word] * 254)
        while len(tokenizer(fits)["input_ids"]) > 256:
            fits = fits[: -len(word) - 1]
        assert len(score_pairs(model, tokenizer, [fits])) == 1
        longer = " ".join([word] * 300)
        refused(lambda: score_pairs(model, tokenizer, [longer]), "reads 256 tokens", "is cut off")


class Payload:
    "A pickle that would leave a mark when it is opened."

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple:
        return (Path.touch, (self.mark,))


def pickled(place: Path, weights: object) -> None:
    (place / "model.safetensors").unlink(missing_ok=True)
    torch.save(weights, place / "pytorch_model.bin")


def test_a_pickle_is_converted_by_name_and_scores_alike(bert, tmp_path):
    model, tokenizer = load_encoder(bert)
    before = score_pairs(model, tokenizer, TEXTS[:5])
    pickled(bert, model.state_dict())
    refused(lambda: load_encoder(bert), "holds no .safetensors", "to_safetensors(")
    made = to_safetensors(str(bert), tmp_path / "converted")
    assert sorted(file.name for file in made.iterdir()) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    assert np.array_equal(score_pairs(*load_encoder(made), TEXTS[:5]), before)
    refused(lambda: to_safetensors(str(bert), made), "is there already; name a new folder")


@pytest.mark.parametrize("wrap", [lambda bad: bad, lambda bad: {"weight": bad}])
def test_nothing_but_weights_comes_out_of_a_pickle(bert, tmp_path, wrap):
    mark = tmp_path / "mark"
    pickled(bert, wrap(Payload(mark)))
    refused(lambda: to_safetensors(str(bert), tmp_path / "new"), "somebody you trust")
    assert not mark.exists() and not (tmp_path / "new").exists()


@pytest.mark.parametrize("text", ["{,", "[1]", ""])
def test_a_damaged_configuration_is_named(bert, text):
    "It was called an identity that is not JSON, and the file was not named."
    (bert / "config.json").write_text(text)
    who = participant(f"encoder/{bert}")
    refused(lambda: who.identity, str(bert / "config.json"), "cannot be read")


def test_what_is_no_pair_is_refused_and_no_place_enters_the_key(checkpoints, tmp_path):
    who = participant(f"encoder/{checkpoints['bert']}", batch_size=4)
    assert who.loaded and "loaded" not in vars(pickle.loads(pickle.dumps(who)))
    item = bets(THINGS[:2], 1).iloc[0].to_dict()
    for odd, said in (
        ({"content": {"kind": "bet"}}, "no bare question"),
        ({"options": [each | {"text": " "} for each in item["options"]]}, "the texts of two"),
        ({"system": "You bet."}, "a system prompt"),
    ):
        refused(lambda: who.check_items([item | odd]), "cannot be asked example/bets", said)
    shutil.copytree(checkpoints["bert"], tmp_path / "bert@coin")
    there = participant("encoder/bert@coin", checkpoints=str(tmp_path))
    assert (there.revision, there.identity) == (who.revision, who.identity)
    assert str(tmp_path) not in f"{there.name} {there.identity}"
