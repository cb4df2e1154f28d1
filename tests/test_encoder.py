"""Encoders beyond their notebook: four architectures, order and batches, bad checkpoints, a run."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from cogbias.backends.encoder import (  # noqa: E402
    encoder_class,
    load_encoder,
    score_pairs,
    to_safetensors,
)
from tiny_models import ENCODERS, encoder_config, encoder_tokenizer  # noqa: E402
from cogbias.participants import Request, participant  # noqa: E402
from cogbias.tables import CogbiasError, item_table, option  # noqa: E402

THINGS = ("car", "pen", "house", "sock", "computer", "slipper")
ROLES = {
    "win": "I should bet on heads",
    "lose": "I should bet on tails",
    "none": "I should not bet on either one",
}


def question(first, second):
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
def checkpoints(tmp_path_factory):
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
def bert(checkpoints, tmp_path):
    "A BERT, to be damaged."
    return Path(shutil.copytree(checkpoints["bert"], tmp_path / "bert"))


def bet():
    "A bet, as an item holds it."
    options = [option(label, text, role) for label, (role, text) in zip("ABC", ROLES.items())]
    keys = {"condition": "bet", "pair_id": "one", "cluster": "car", "stratum": "all"}
    asked = {"prompt": question("car", "pen"), "content": {"question": question("car", "pen")}}
    made = item_table("example/bets", [keys | asked | {"answer": "choice", "options": options}])
    return made.iloc[0].to_dict()


def refused(call, *said):
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


def edited(**change):
    def edit(place):
        config = json.loads((place / "config.json").read_text())
        (place / "config.json").write_text(json.dumps(config | change))

    return edit


def without_tokenizer(place):
    for file in place.glob("tokenizer*"):
        file.unlink()


def three_labels(place):
    config = transformers.AutoConfig.from_pretrained(place)
    config.id2label = {0: "entailment", 1: "neutral", 2: "contradiction"}
    transformers.BertForSequenceClassification(config).save_pretrained(place)


def headless(place):
    config = transformers.AutoConfig.from_pretrained(place)
    transformers.BertForMaskedLM(config).save_pretrained(place)


def without_a_layer(place):
    from safetensors.torch import load_file, save_file

    weights = load_file(place / "model.safetensors")
    del weights["bert.encoder.layer.1.attention.self.query.weight"]
    save_file(weights, place / "model.safetensors", {"format": "pt"})


def torn(place):
    whole = (place / "model.safetensors").read_bytes()
    (place / "model.safetensors").write_bytes(whole[: len(whole) // 2])


OWN_CODE = {"AutoModel": "m.Model"}
FAULTS = {
    "no head for it": (edited(model_type="gpt2"), "architecture 'gpt2'"),
    "unknown kind": (edited(model_type="oracle"), "config.json cannot be read"),
    "no tokenizer": (without_tokenizer, "has no tokenizer"),
    "another vocabulary": (edited(vocab_size=20), "its tokenizer is not that of its model"),
    "three labels": (three_labels, "the head of another task"),
    "never trained": (headless, "its head was never trained to choose"),
    "a layer missing": (without_a_layer, "has no values for 1 of its weights, bert.encoder.la"),
    "torn": (torn, "its weights cannot be read"),
    "its own code": (edited(auto_map=OWN_CODE), "brings its own code"),
    "no weights": (lambda place: (place / "model.safetensors").unlink(), "convert it: python -c"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_checkpoint_that_cannot_be_asked_is_refused_in_a_line(bert, fault):
    damage, said = FAULTS[fault]
    damage(bert)
    refused(lambda: load_encoder(bert), said)
    who = participant(f"encoder/{bert}")
    refused(lambda: list(who.answers([Request(bet(), 0, 0)], "encoder")), said)


def test_a_text_that_is_too_long_is_refused_and_not_cut(checkpoints):
    for family in ("bert", "roberta"):
        model, tokenizer = load_encoder(checkpoints[family])
        word = next(iter(THINGS))
        fits = " ".join([word] * 254)
        while len(tokenizer(fits)["input_ids"]) > 256:
            fits = fits[: -len(word) - 1]
        assert len(score_pairs(model, tokenizer, [fits])) == 1
        longer = " ".join([word] * 300)
        refused(lambda: score_pairs(model, tokenizer, [longer]), "reads 256 tokens", "truncated")


class Payload:
    "A pickle that would leave a mark when it is opened."

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return (Path.touch, (self.mark,))


def pickled(place, weights):
    (place / "model.safetensors").unlink(missing_ok=True)
    torch.save(weights, place / "pytorch_model.bin")


def test_a_pickle_is_converted_by_name_and_scores_alike(bert, tmp_path):
    model, tokenizer = load_encoder(bert)
    before = score_pairs(model, tokenizer, TEXTS[:5])
    pickled(bert, model.state_dict())
    refused(lambda: load_encoder(bert), "has no .safetensors", "to_safetensors(")
    made = to_safetensors(str(bert), tmp_path / "converted")
    tokenizer = {"tokenizer.json", "tokenizer_config.json"}
    names = {file.name for file in made.iterdir()}
    assert names == {"config.json", "model.safetensors"} | tokenizer
    assert np.array_equal(score_pairs(*load_encoder(made), TEXTS[:5]), before)
    refused(lambda: to_safetensors(str(bert), made), "already exists; name a new folder")


@pytest.mark.parametrize("wrap", [lambda bad: bad, lambda bad: {"weight": bad}])
def test_nothing_but_weights_comes_out_of_a_pickle(bert, tmp_path, wrap):
    mark = tmp_path / "mark"
    pickled(bert, wrap(Payload(mark)))
    refused(lambda: to_safetensors(str(bert), tmp_path / "new"), "you trust")
    assert not mark.exists() and not (tmp_path / "new").exists()
