"""Encoders beyond their notebook: four architectures, order and batches, bad checkpoints, a run."""

import json
import math
import pickle
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from cogbias import cli  # noqa: E402
from cogbias.backends import encoder, hf  # noqa: E402
from cogbias.backends.encoder import (  # noqa: E402
    encoder_class,
    load_encoder,
    score_pairs,
    sparse_blocks,
    to_safetensors,
)
from cogbias.compare import compare, comparison_notes, for_readers  # noqa: E402
from cogbias.elicitation.tiny import ENCODERS, encoder_config, encoder_tokenizer  # noqa: E402
from cogbias.outputs import Folder, read_cells  # noqa: E402
from cogbias.participants import Request, participant  # noqa: E402
from cogbias.reporting.cell import _answers_given  # noqa: E402
from cogbias.reporting.methods import _answers_sentence  # noqa: E402
from cogbias.tables import EFFECTS, CogbiasError, item_table, load_table, option  # noqa: E402
from cogbias.trials import TrialStore, check_answers, collect, plan  # noqa: E402

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


# --- scores ------------------------------------------------------------------


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


def test_bigbird_reads_a_text_alike_whatever_was_read_before(checkpoints, tmp_path):
    tokenizer = encoder_tokenizer("bigbird", TEXTS, 400)
    config = encoder_config(
        "bigbird",
        tokenizer,
        positions=1024,
        initializer_range=0.3,
        block_size=16,
        num_random_blocks=2,
    )
    torch.manual_seed(3)
    model = encoder_class(config)(config).eval()
    tokens = [len(tokenizer(text)["input_ids"]) for text in TEXTS]
    short = TEXTS[tokens.index(min(tokens))]
    long = [" ".join(TEXTS[at : at + count]) for at, count in ((0, 4), (5, 4), (9, 7))]
    in_blocks = [sparse_blocks(config, len(tokenizer(each)["input_ids"])) for each in long]
    assert sparse_blocks(config, min(tokens)) == 0 and min(in_blocks) > 9
    np.random.seed(5)
    expected_draw = np.random.RandomState(5).random()
    before = score_pairs(model, tokenizer, long)
    mixed = score_pairs(model, tokenizer, [short, *long, short], 2)
    after = score_pairs(model, tokenizer, long[::-1])[::-1]
    assert np.allclose(before, mixed[1:4], atol=1e-5) and np.allclose(before, after, atol=1e-5)
    assert np.random.random() == expected_draw  # the random blocks leave numpy's generator alone
    model.bert.set_attention_type("original_full")
    rows = tokenizer(long)["input_ids"]
    full = [model(torch.tensor([[row]])).logits.item() for row in rows]
    assert np.abs(before - full).max() > 1e-4  # so it was not full attention all along


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


# --- answers -----------------------------------------------------------------


def test_answers_are_stored_with_their_scores_and_read_again(checkpoints, tmp_path):
    items, store = bets(), TrialStore(tmp_path / "bets.jsonl")
    who = participant(f"encoder/{checkpoints['deberta']}")
    done = collect(items, who, store, repeats=5)
    assert done.method == "encoder" and done.planned == len(items)
    assert "an encoder answers the same each time" in done.note
    trials = check_answers(store.read(done.trial_ids), items, store.path)
    assert set(trials["method"]) == {"encoder"} and trials["valid_mass"].isna().all()
    assert trials["temperature"].isna().all() and (trials["tokens_in"] > 30).all()
    for p, logits in zip(trials["p"], trials["logits"]):
        weights = np.exp(np.array(list(logits.values())) - max(logits.values()))
        assert np.allclose(list(p.values()), weights / weights.sum(), atol=1e-12)
        assert max(p, key=p.get) == max(logits, key=logits.get)
    again = collect(items, who, store)
    assert (again.asked, again.stored) == (0, len(items))
    odd = json.loads(store.path.read_text().splitlines()[0])
    odd["logits"] = {label: -score for label, score in odd["logits"].items()}
    store.path.write_text(json.dumps(odd) + "\n")
    refused(lambda: check_answers(store.read(), items, store.path), "another chance than its 'log")


def test_a_participant_travels_to_another_process(checkpoints):
    who = participant(f"encoder/{checkpoints['bert']}", batch_size=4)
    assert who.loaded and pickle.loads(pickle.dumps(who)) == who
    assert "loaded" not in vars(pickle.loads(pickle.dumps(who)))


def test_place_and_batch_size_change_no_key(checkpoints, tmp_path):
    home = tmp_path / "elsewhere"
    for where in (tmp_path / "here", home):
        shutil.copytree(checkpoints["bert"], where / "bert@coin+dice")
    one = participant("encoder/bert@coin+dice", checkpoints=str(tmp_path / "here"))
    two = participant("encoder/bert@coin+dice", checkpoints=str(home), batch_size=3)
    items = bets(THINGS[:3])
    assert plan(items, one).trial_ids == plan(items, two).trial_ids
    assert one.name == "encoder/bert@coin+dice"
    config = json.loads((home / "bert@coin+dice" / "config.json").read_text())
    text = json.dumps(config | {"layer_norm_eps": 1e-6})
    (home / "bert@coin+dice" / "config.json").write_text(text)
    three = participant("encoder/bert@coin+dice", checkpoints=str(home))
    assert plan(items, one).trial_ids != plan(items, three).trial_ids


def test_threads_take_turns_with_a_model(checkpoints, monkeypatch):
    "One that reads in blocks must not be switched by another while it does."
    plain, inside, met = encoder._logits, [], []

    def watched(model, rows, width):
        inside.append(threading.get_ident())
        met.append(len(inside))
        time.sleep(0.01)
        inside.pop()
        return plain(model, rows, width)

    model, tokenizer = load_encoder(checkpoints["bigbird"])
    alone = score_pairs(model, tokenizer, TEXTS[:12], 3)
    monkeypatch.setattr(encoder, "_logits", watched)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: score_pairs(model, tokenizer, TEXTS[:12], 3), range(8)))
    assert all(np.array_equal(each, alone) for each in found)
    assert len(met) == 32 and set(met) == {1}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_another_precision_is_another_participant(checkpoints, dtype):
    plain = participant(f"encoder/{checkpoints['roberta']}")
    coarse = participant(f"encoder/{checkpoints['roberta']}", dtype=dtype)
    assert coarse.name == f"{plain.name} dtype={dtype}" and coarse.identity != plain.identity
    fine, rough = (score_pairs(*who.loaded, TEXTS[:9]) for who in (plain, coarse))
    assert 0 < np.abs(fine - rough).max() < 0.2 * np.abs(fine).max()


def test_a_run_of_the_program(checkpoints, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(checkpoints["bert"].parent)
    where = ["--where", "item_set=published", "--where", "layout=1", "--no-reports"]
    asked = ["run", "--model", "encoder/./bigbird", "--paradigm", "bets/coin", *where]
    with pytest.raises(SystemExit) as ended:
        cli.main([*asked, "--outputs", str(tmp_path / "out")])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert "method encoder" in said and " ok)" in said
    (file,) = (tmp_path / "out" / "trials").glob("*/*.jsonl")
    record = json.loads(file.read_text().splitlines()[0])
    assert record["logits"].keys() == record["p"].keys() == {"A", "B", "C"}
    (facts,) = (tmp_path / "out").glob("trials/*/participant.json")
    known = json.loads(facts.read_text())["facts"]
    assert known["attention"] == "full for texts of up to 704 tokens, in blocks beyond"
    assert known["architecture"] == "BigBirdForMultipleChoice"


# --- beside others -----------------------------------------------------------


@pytest.fixture(scope="module")
def beside(checkpoints, tmp_path_factory) -> Path:
    "Two encoders and a simulated participant in one folder."
    out = tmp_path_factory.mktemp("beside")
    for model in (f"encoder/{checkpoints['bert']}", f"encoder/{checkpoints['roberta']}"):
        run_bets(model, out)
    run_bets("sim/type_only", out)
    return out


def run_bets(model: str, out: Path) -> None:
    where = ["--where", "item_set=published", "--where", "split=test", "--no-reports"]
    with pytest.raises(SystemExit) as ended:
        asked = ["run", "--model", model, "--paradigm", "bets/coin", *where]
        cli.main([*asked, "--outputs", str(out)])
    assert ended.value.code == 0


def test_an_encoder_cannot_see_the_order_of_options(beside):
    "Read as chances, scores that lie close together would look like a liking for places."
    effects = load_table(beside / "effects.parquet", EFFECTS)
    mine = effects[effects["participant"].str.startswith("encoder/")].set_index("measure")
    assert (mine.loc["order_consistency", "estimate"] == 1).all()
    assert (mine.loc["position_locked", "estimate"] == 0).all()


def test_encoders_are_not_ranked_beside_others_unmarked(beside):
    found = compare(beside)
    ranks = for_readers(found)["Ranks"].set_index("participant")["asked"]
    assert ranks["sim/type_only (simulated)"] == "in one prompt"
    assert (ranks.drop("sim/type_only (simulated)") == "option by option").all()
    assert "a difference between the two is one of instruments too" in comparison_notes(found)
    encoders = [name for name in found.ranks["participant"] if name != "sim/type_only"]
    alike = compare(beside, *encoders)
    assert "asked" not in for_readers(alike)["Ranks"]
    assert "instruments" not in comparison_notes(alike)


def test_a_report_says_how_an_encoder_is_asked(beside):
    cells = {cell.trials["participant"].iloc[0]: cell for cell in read_cells(Folder(beside))}
    (cell,) = (cell for name, cell in cells.items() if name.endswith("roberta"))
    trials = cell.trials
    assert "read each option by itself, behind the bare question" in _answers_sentence(trials)
    item = cell.items.table.iloc[0].to_dict()
    said = _answers_given(item, trials)
    scores = trials.set_index("item_id").loc[item["item_id"], "logits"]
    assert all(f": score {score:.2f}" in said for score in scores.values()) and "prob" not in said


# --- what cannot be asked ----------------------------------------------------


def test_a_paradigm_without_a_bare_question_is_refused_before_anything_is_asked(checkpoints):
    who = participant(f"encoder/{checkpoints['bert']}")
    plain = bets(THINGS[:2]).drop(columns="item_id").assign(content=[{"kind": "bet"}] * 6)
    plain = item_table("example/plain", plain.drop(columns="paradigm").to_dict("records"))
    refused(
        lambda: plan(plain, who), "cannot be asked example/plain", "no bare question", "hf/NAME"
    )
    blank = bets(THINGS[:2], orders=1).to_dict("records")
    for item in blank:
        item["options"] = [each | {"text": " "} for each in item["options"]]
    kept = [
        {name: value for name, value in item.items() if name not in ("item_id", "paradigm")}
        for item in blank
    ]
    refused(
        lambda: plan(item_table("example/blank", kept), who), "without the texts of two options"
    )
    led = [
        item | {"system": "You bet.", "options": bets(THINGS[:2], 1)["options"][0]} for item in kept
    ]
    refused(lambda: plan(item_table("example/led", led), who), "whose items have a system prompt")


def test_open_numbers_are_not_passed_over_in_silence(checkpoints):
    who = participant(f"encoder/{checkpoints['bert']}")
    rows = bets(THINGS[:2], 1, "number").to_dict("records")
    rows = [
        {name: value for name, value in row.items() if name not in ("item_id", "paradigm")}
        | {"options": []}
        for row in rows
    ]
    table = item_table("example/open", rows)
    refused(lambda: plan(table, who), "ask for a number have no options", "put them to one that")
    assert "Traceback" not in refused(lambda: plan(table, who, "text"), "it offers encoder")


# --- checkpoints that cannot be asked ----------------------------------------


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
    "another padding": (lambda place: edit_config(place, pad_token_id=3), "pads with 0, its model"),
    "another vocabulary": (lambda place: edit_config(place, vocab_size=20), "tokens, its model 20"),
    "three labels": (other_head(3), "3 outputs: entailment, neutral, contradiction"),
    "a regression": (other_head(1), "the head of another task (BertForSequenceClassification"),
    "never trained": (headless, "its head was never trained for choosing"),
    "a layer missing": (without_a_layer, "holds no values for 1 of its weights, bert.encoder.la"),
    "torn": (torn, "cannot be read as safetensors"),
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


def test_one_output_of_another_class_is_refused_for_its_class(bert):
    "The reason was that it has one output, where it has one."
    other_head(1)(bert)
    with pytest.raises(CogbiasError) as error:
        load_encoder(bert)
    assert "that of BertForMultipleChoice with one output" in str(error.value)
    assert "where an encoder that chooses has one output" not in str(error.value)


@pytest.mark.parametrize(
    "dtype, told", [("float32", "get the model again"), ("bfloat16", "'float32'")]
)
def test_scores_that_are_no_numbers_ask_for_what_may_help(dtype, told):
    "In float32 the advice was to set dtype='float32'."
    import torch

    from cogbias.backends.encoder import Scored, _check_scores

    found = Scored(["a text"], np.array([np.nan]), [2], [0])
    with pytest.raises(CogbiasError) as error:
        _check_scores("encoder/mine", found, getattr(torch, dtype))
    assert told in str(error.value)
    assert ("dtype='float32'" in str(error.value)) == (dtype == "bfloat16")


@pytest.mark.parametrize("labels", [2, 3])
def test_deberta_with_another_number_of_labels_is_refused(checkpoints, tmp_path, labels):
    place = Path(shutil.copytree(checkpoints["deberta"], tmp_path / "deberta"))
    config = transformers.AutoConfig.from_pretrained(place)
    config.num_labels = labels
    transformers.DebertaForSequenceClassification(config).save_pretrained(place)
    refused(lambda: load_encoder(place), f"{labels} outputs: LABEL_0, LABEL_1", "another task")


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


@pytest.mark.parametrize("device", ["cuda:7", "nowhere"])
def test_a_device_that_is_not_there_is_refused_in_a_line(checkpoints, device):
    refused(lambda: load_encoder(checkpoints["bert"], device), f"device {device!r}", "auto or cpu")


# --- while scoring -----------------------------------------------------------


def exhausted_beyond(pairs: int) -> object:
    "A model whose memory holds a few pairs at a time, as an accelerator that raises."

    class Small(SimpleNamespace):
        device = torch.device("cpu")
        dtype = torch.float32

        def __call__(self, input_ids, attention_mask):
            if len(input_ids) > pairs:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
            return SimpleNamespace(logits=torch.zeros(len(input_ids), 1))

    return Small(config=encoder_config("bert", encoder_tokenizer("bert", TEXTS, 400)))


@pytest.mark.parametrize(
    ("size", "holds", "tried", "advice"),
    [
        (64, 20, "by batch_size=64 with texts of", "set batch_size=32"),
        (16, 3, "by batch_size=16 with texts of", "set batch_size=8"),
        (1, 0, "by batch_size=1 with texts of", "use device='cpu' or a smaller model"),
    ],
)
def test_exhausted_memory_names_the_size_tried_and_the_next(size, holds, tried, advice):
    tokenizer = encoder_tokenizer("bert", TEXTS, 400)
    refused(
        lambda: score_pairs(exhausted_beyond(holds), tokenizer, TEXTS, size, "encoder/x"),
        "encoder/x: memory of cpu exhausted",
        tried,
        advice,
    )


def test_what_was_scored_before_memory_ran_out_is_stored(checkpoints, tmp_path, monkeypatch):
    plain, calls = encoder._logits, iter(range(100))

    def tired(model, rows, width):
        if next(calls) == 2:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return plain(model, rows, width)

    items, store = bets(), TrialStore(tmp_path / "bets.jsonl")
    who = participant(f"encoder/{checkpoints['bert']}", batch_size=32)
    with monkeypatch.context() as patched:
        patched.setattr(encoder, "_logits", tired)
        refused(lambda: collect(items, who, store), "batch_size=26", "set batch_size=13", "stored")
    kept = len(store.read())
    assert 0 < kept < len(items)
    smaller = participant(f"encoder/{checkpoints['bert']}", batch_size=13)
    done = collect(items, smaller, store)
    assert (done.stored, done.asked) == (kept, len(items) - kept)


@pytest.mark.parametrize("odd", [math.nan, math.inf])
def test_scores_that_are_no_numbers_stop_and_are_not_stored(bert, tmp_path, odd):
    from safetensors.torch import load_file, save_file

    weights = load_file(bert / "model.safetensors")
    weights["classifier.bias"][:] = odd
    save_file(weights, bert / "model.safetensors", {"format": "pt"})
    store = TrialStore(tmp_path / "bets.jsonl")
    said = refused(lambda: collect(bets(), participant(f"encoder/{bert}"), store), str(odd))
    assert "get the model again" in said and "dtype" not in said and not len(store.read())
    assert "so nothing is new in the store" in said and "the rest only" not in said
    assert said.count(f"encoder/{bert}") == 1  # named once, and what is wrong before what follows
    assert said.index(str(odd)) < said.index("stopped after 0 of")


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


# --- pickles -----------------------------------------------------------------


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
    behind_a_file = made / "config.json" / "new"
    refused(lambda: to_safetensors(str(bert), behind_a_file), "cannot write", "you may write to")


def test_weights_in_parts_are_converted_whole(bert, tmp_path):
    model, _ = load_encoder(bert)
    weights = list(model.state_dict().items())
    (bert / "model.safetensors").unlink()
    for number, part in enumerate((weights[:10], weights[10:]), 1):
        torch.save(dict(part), bert / f"pytorch_model-0000{number}-of-00002.bin")
    (bert / "pytorch_model.bin.index.json").write_text("{}")
    made = to_safetensors(str(bert), tmp_path / "whole")
    assert not (made / "pytorch_model.bin.index.json").exists()
    assert len(load_encoder(made)[0].state_dict()) == len(weights)


@pytest.mark.parametrize("wrap", [lambda bad: bad, lambda bad: {"weight": bad}])
def test_nothing_but_weights_comes_out_of_a_pickle(bert, tmp_path, wrap):
    mark = tmp_path / "mark"
    pickled(bert, wrap(Payload(mark)))
    said = refused(lambda: to_safetensors(str(bert), tmp_path / "new"), "holds more than weights")
    assert not mark.exists() and not (tmp_path / "new").exists(), said
    assert not list(tmp_path.glob("*.part"))
    pickled(bert, {"weight": torch.zeros(2), "epoch": 3})
    refused(
        lambda: to_safetensors(str(bert), tmp_path / "new"), "holds 'epoch', which is no weight"
    )
    (bert / "pytorch_model.bin").unlink()
    refused(lambda: to_safetensors(str(bert), tmp_path / "new"), "holds no pytorch_model.bin")


# --- names -------------------------------------------------------------------


def test_the_hub_is_asked_for_a_name_alone_and_says_who_asked(monkeypatch, tmp_path):
    import huggingface_hub

    asked: list[tuple] = []

    def nobody(name: str, revision: str | None, allow_patterns: list[str]) -> str:
        asked.append((name, revision, tuple(allow_patterns)))
        raise huggingface_hub.errors.LocalEntryNotFoundError("no connection")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", nobody)
    refused(lambda: load_encoder("org/model@abc"), "encoder/org/model@abc: cannot be fetched")
    refused(lambda: to_safetensors("org/model", tmp_path / "new"), "encoder/org/model: cannot be")
    refused(lambda: load_encoder("bert@coin"), "is an encoder that is trained here")
    refused(lambda: load_encoder("./nowhere"), "encoder/./nowhere", "holds no config.json")
    assert [each[:2] for each in asked] == [("org/model", "abc"), ("org/model", None)]
    assert not any("bin" in pattern for pattern in asked[0][2])
    assert "pytorch_model.bin" in asked[1][2] and "spiece.model" in hf._FETCHED_FILES


@pytest.mark.parametrize("text", ["{,", "[1]", ""])
def test_a_damaged_configuration_is_named(bert, text):
    "It was called an identity that is not JSON, and the file was not named."
    (bert / "config.json").write_text(text)
    who = participant(f"encoder/{bert}")
    refused(lambda: who.identity, str(bert / "config.json"), "cannot be read")


@pytest.mark.parametrize("name", ["bert-base-uncased", "./not-there"])
def test_a_plan_refuses_what_the_run_would(name: str, tmp_path: Path) -> None:
    "A name that cannot be looked up here was planned; only the run refused it."
    from cogbias.study import make_study, plan_study

    study = make_study(models=[f"encoder/{name}"], paradigms=["choice/certainty"])
    refused(lambda: plan_study(study, tmp_path), "choice/certainty", "no bare question")


def test_and_plans_what_it_would_ask(tmp_path: Path) -> None:
    from cogbias.study import make_study, plan_study

    study = make_study(models=["encoder/bert-base-uncased"], paradigms=["bets/coin"])
    assert plan_study(study, tmp_path)["missing"].sum() > 0
