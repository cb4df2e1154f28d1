"""Local models beyond notebooks: architectures, refusals, threads, processes, an event loop."""

import asyncio
import json
import logging
import math
import multiprocessing
import pickle
import shutil
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from cogbias.backends.hf import HfParticipant, token_texts  # noqa: E402
from cogbias.design import paradigm
from cogbias.tables import CogbiasError, option  # noqa: E402
from cogbias.elicitation.answer_trees import Look, Token, answer_tree, measure  # noqa: E402
from cogbias.elicitation.tiny import random_model, tiny_folder, tiny_tokenizer  # noqa: E402
from cogbias.participants import Request, participant  # noqa: E402
from cogbias.trials import TrialStore, collect  # noqa: E402

SMALL = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 1024,
    "initializer_range": 0.2,
    "bos_token_id": None,
    "eos_token_id": 3,
    "pad_token_id": 0,
    "max_position_embeddings": 1024,
}
ARCHITECTURES = {
    "llama": SMALL,
    "qwen2": SMALL,
    "qwen3": SMALL,
    "gemma": SMALL,
    "mistral": SMALL,
    "gpt2": {
        "n_embd": 64,
        "n_layer": 2,
        "n_head": 4,
        "n_positions": 1024,
        "vocab_size": 1024,
        "initializer_range": 0.2,
        "bos_token_id": 3,
        "eos_token_id": 3,
    },
}
ITEMS = (
    paradigm("choice/certainty").items().to_dict("records")[::100]
    + paradigm("choice/decoy").items(products=["car"]).to_dict("records")[::500]
)
REQUESTS = [Request(item, 0, seed) for seed, item in enumerate(ITEMS)]


def saved(folder: Path, architecture: str) -> Path:
    "A small random model of an architecture, with the tiny tokenizer."
    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_config(
        transformers.AutoConfig.for_model(architecture, **ARCHITECTURES[architecture])
    ).eval()
    model.save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def one_by_one(who: HfParticipant, item: dict) -> object:
    "The plain way: one prompt, one path, the whole vocabulary, no sharing."
    (prompt,) = who.prompts([item])
    texts, ends = token_texts(who.tokenizer), who.loaded.ends

    def look(path):
        with torch.inference_mode():
            logprobs = (
                who.loaded.model(torch.tensor([[*prompt, *path]]))
                .logits[0, -1]
                .float()
                .log_softmax(-1)
                .tolist()
            )
        end = math.fsum(math.exp(logprobs[key]) for key in ends)
        return Look(
            [
                Token(key, text, logprobs[key])
                for key, text in enumerate(texts)
                if text and key not in ends
            ],
            math.log(end),
        )

    return measure(answer_tree(item["options"]), look, who.tolerance)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_same_answers_as_one_prompt_at_a_time(tmp_path, architecture):
    who = participant(f"hf/{saved(tmp_path, architecture)}", tolerance=0.05, dtype="float32")
    answers = dict(who.answers(REQUESTS[:6] + REQUESTS[-4:], "option_probability"))
    for index, request in enumerate(REQUESTS[:6] + REQUESTS[-4:]):
        plain = one_by_one(who, request.item)
        assert abs(plain.valid_mass - answers[index].valid_mass) < 1e-4
        assert max(abs(plain.p[label] - answers[index].p[label]) for label in plain.p) < 1e-4


def test_draws_come_from_the_exact_distribution_and_ask_once(tmp_path):
    table = paradigm("choice/certainty").items().iloc[:12].reset_index(drop=True)
    store = TrialStore(tmp_path / "tiny.jsonl")
    done = collect(table, participant("hf/tiny"), store, repeats=100)
    trials = store.read(done.trial_ids)
    assert (
        done.method == "option_draw"
        and len(trials) == 1200
        and "drawn from one exact distribution" in done.note
    )
    assert abs((trials.choice == "A").mean() - 0.7) < 4 * math.sqrt(0.7 * 0.3 / 1200)
    assert set(map(len, trials.p)) == {2}


def test_two_steps_are_two_records(tmp_path):
    table = paradigm("choice/certainty").items().iloc[:8].reset_index(drop=True)
    store = TrialStore(tmp_path / "tiny.jsonl")
    done = collect(
        table,
        participant("hf/tiny"),
        store,
        "two_step",
        extractor=participant("hf/tiny", temperature=0.0),
    )
    trials = store.read()
    assert (
        trials.method.value_counts().to_dict() == {"reasoning": 8, "two_step": 8} and done.complete
    )
    assert (
        trials[trials.method == "reasoning"].choice.isna().all()
        and trials[trials.method == "two_step"].choice.notna().all()
    )
    assert (
        collect(
            table,
            participant("hf/tiny"),
            store,
            "two_step",
            extractor=participant("hf/tiny", temperature=0.0),
        ).asked
        == 0
    )


def test_system_prompt_reaches_the_model_and_the_key(tmp_path):
    brief, plain = (
        participant("hf/tiny", system="Reply with one word, valid or invalid."),
        participant("hf/tiny"),
    )
    item = {
        **ITEMS[0],
        "prompt": "Is it?",
        "options": [option("valid", "", "accept"), option("invalid", "", "reject")],
    }
    answer = next(brief.answers([Request(item, 0, 0)], "option_probability"))[1]
    assert abs(answer.p["valid"] - 0.6) < 1e-4 and brief.identity != plain.identity


def changed(folder: Path, name: str, **values: object) -> Path:
    "A copy of the tiny model with a changed JSON file."
    shutil.copytree(tiny_folder(), folder)
    file = folder / name
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))
    return folder


def test_only_safetensors_and_no_foreign_code(tmp_path):
    pickled = tmp_path / "pickled"
    shutil.copytree(tiny_folder(), pickled)
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    with pytest.raises(CogbiasError, match="holds no .safetensors"):
        participant(f"hf/{pickled}").revision
    foreign = changed(
        tmp_path / "foreign", "config.json", auto_map={"AutoModelForCausalLM": "evil.Model"}
    )
    with pytest.raises(CogbiasError, match="brings its own code"):
        list(participant(f"hf/{foreign}").answers(REQUESTS[:1], "option_probability"))
    broken = changed(tmp_path / "broken", "config.json", hidden_size=128)
    with pytest.raises(CogbiasError, match="cannot be loaded"):
        list(participant(f"hf/{broken}").answers(REQUESTS[:1], "option_probability"))


def test_an_instruct_model_without_template_is_said(tmp_path, caplog):
    folder = tmp_path / "Some-1B-Instruct"
    shutil.copytree(tiny_folder(), folder)
    (folder / "chat_template.jinja").unlink()
    who = participant(f"hf/{folder}")
    with caplog.at_level(logging.WARNING):
        answer = next(who.answers(REQUESTS[:1], "option_probability"))[1]
    assert (
        "asked without a chat template" in caplog.text
        and "without a chat template" in who.facts()["warning"]
    )
    assert abs(answer.p["A"] - 0.7) < 1e-4 and who.identity["template"] is None


def test_a_changed_weight_is_another_revision(tmp_path):
    one, two = (shutil.copytree(tiny_folder(), tmp_path / name) for name in "ab")
    before = participant(f"hf/{two}").revision
    with (two / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        last = file.read(1)
        file.seek(-1, 2)
        file.write(bytes([last[0] ^ 1]))
    assert participant(f"hf/{one}").revision == before != participant(f"hf/{two}").revision


def test_a_thinking_model_is_asked_in_text_and_its_thinking_kept_apart():
    folder = tiny_folder(think=True)
    quiet, loud = participant(f"hf/{folder}"), participant(f"hf/{folder}", think=True)
    assert abs(next(quiet.answers(REQUESTS[:1], "option_probability"))[1].p["A"] - 0.7) < 1e-4
    answer = next(loud.answers(REQUESTS[:1], "text"))[1]
    assert (
        (loud.methods, answer.status) == (("text",), "ok")
        and "think" in answer.thinking
        and answer.response.strip() in ("A", "B")
    )


def ask(who: HfParticipant) -> dict[str, float]:
    "One answer, wherever this runs."
    return next(who.answers(REQUESTS[:1], "option_probability"))[1].p


def test_one_object_in_threads_a_process_and_an_event_loop():
    who = participant("hf/tiny")
    with ThreadPoolExecutor(4) as pool:
        found = [each.result() for each in [pool.submit(ask, who) for _ in range(8)]]
    assert all(abs(each["A"] - 0.7) < 1e-4 for each in found)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert abs(pool.submit(ask, who).result()["A"] - 0.7) < 1e-4

    async def inside() -> dict[str, float]:
        return ask(who)

    assert abs(asyncio.run(inside())["A"] - 0.7) < 1e-4
    assert b"loaded" not in pickle.dumps(who)


def test_random_models_follow_their_seed():
    one, two, other = (random_model(seed=seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(one[name], two[name]) for name in one) and not torch.equal(
        one["lm_head.weight"], other["lm_head.weight"]
    )
