"""Local models beyond notebooks: architectures, refusals, threads, processes, an event loop."""

import asyncio
import json
import logging
import math
import multiprocessing
import pickle
import shutil
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest
from tiers import every_few

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from cogbias.backends.hf import token_texts  # noqa: E402
from cogbias.design import paradigm
from cogbias.tables import CogbiasError, option  # noqa: E402
from cogbias.elicitation.answer_trees import NextTokens, Token, answer_tree, measure  # noqa: E402
from tiny_models import (  # noqa: E402
    build_reader,
    tiny_folder,
    tiny_tokenizer,
)
from cogbias.participants import Request, participant  # noqa: E402

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


def saved(folder, architecture):
    "A small random model of an architecture, with the tiny tokenizer."
    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_config(
        transformers.AutoConfig.for_model(architecture, **ARCHITECTURES[architecture])
    ).eval()
    model.save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def one_by_one(who, item):
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
        return NextTokens(
            [
                Token(key, text, logprobs[key])
                for key, text in enumerate(texts)
                if text and key not in ends
            ],
            math.log(end),
        )

    return measure(answer_tree(item["options"]), look, who.tolerance)


@pytest.mark.parametrize("architecture", every_few(3, ARCHITECTURES))
def test_same_answers_as_one_prompt_at_a_time(tmp_path, architecture):
    who = participant(f"hf/{saved(tmp_path, architecture)}", tolerance=0.05, dtype="float32")
    answers = dict(who.answers(REQUESTS[:6] + REQUESTS[-4:], "option_probability"))
    for index, request in enumerate(REQUESTS[:6] + REQUESTS[-4:]):
        plain = one_by_one(who, request.item)
        assert abs(plain.valid_mass - answers[index].valid_mass) < 1e-4
        assert max(abs(plain.p[label] - answers[index].p[label]) for label in plain.p) < 1e-4


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


def changed(folder, name, **values):
    "A copy of the tiny model with a changed JSON file."
    shutil.copytree(tiny_folder(), folder)
    file = folder / name
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))
    return folder


def test_only_safetensors_and_no_foreign_code(tmp_path):
    pickled = tmp_path / "pickled"
    shutil.copytree(tiny_folder(), pickled)
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    with pytest.raises(CogbiasError, match="has no .safetensors"):
        participant(f"hf/{pickled}").revision
    foreign = changed(
        tmp_path / "foreign", "config.json", auto_map={"AutoModelForCausalLM": "evil.Model"}
    )
    with pytest.raises(CogbiasError, match="brings its own code"):
        list(participant(f"hf/{foreign}").answers(REQUESTS[:1], "option_probability"))
    broken = changed(tmp_path / "broken", "config.json", hidden_size=128)
    with pytest.raises(CogbiasError, match="its model cannot be read"):
        list(participant(f"hf/{broken}").answers(REQUESTS[:1], "option_probability"))


def test_an_instruct_model_without_template_is_said(tmp_path, caplog):
    folder = tmp_path / "Some-1B-Instruct"
    shutil.copytree(tiny_folder(), folder)
    (folder / "chat_template.jinja").unlink()
    who = participant(f"hf/{folder}")
    with caplog.at_level(logging.WARNING):
        answer = next(who.answers(REQUESTS[:1], "option_probability"))[1]
    assert (
        "asked without a template" in caplog.text and "without a template" in who.facts()["warning"]
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


def ask(who):
    "One answer, wherever this runs."
    return next(who.answers(REQUESTS[:1], "option_probability"))[1].p


@pytest.mark.slow
def test_one_object_in_threads_a_process_and_an_event_loop():
    who = participant("hf/tiny")
    with ThreadPoolExecutor(4) as pool:
        found = [each.result() for each in [pool.submit(ask, who) for _ in range(8)]]
    assert all(abs(each["A"] - 0.7) < 1e-4 for each in found)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert abs(pool.submit(ask, who).result()["A"] - 0.7) < 1e-4

    async def inside():
        return ask(who)

    assert abs(asyncio.run(inside())["A"] - 0.7) < 1e-4
    assert b"loaded" not in pickle.dumps(who)


def read_one_by_one(who, item):
    "The plain way for an encoder-decoder: the whole model for each prompt and each path."
    (prompt,) = who.prompts([item])
    texts, ends = token_texts(who.tokenizer), who.loaded.ends

    def look(path):
        with torch.inference_mode():
            logits = who.loaded.model(
                input_ids=torch.tensor([prompt]), decoder_input_ids=torch.tensor([[0, *path]])
            ).logits[0, -1]
        logprobs = logits.float().log_softmax(-1).tolist()
        end = math.fsum(math.exp(logprobs[key]) for key in ends)
        tokens = [
            Token(key, text, logprobs[key])
            for key, text in enumerate(texts)
            if text and key not in ends
        ]
        return NextTokens(tokens, math.log(end))

    return measure(answer_tree(item["options"]), look, who.tolerance)


def test_an_encoder_decoder_answers_as_one_prompt_at_a_time(tmp_path):
    "Letters and names of several tokens, said by the decoder after the encoder has read."
    who = participant(f"hf/{build_reader(tmp_path)}", tolerance=0.05)
    requests = REQUESTS[:4] + REQUESTS[-3:]
    answers = dict(who.answers(requests, "option_probability"))
    for index, request in enumerate(requests):
        plain = read_one_by_one(who, request.item)
        assert abs(plain.valid_mass - answers[index].valid_mass) < 1e-4
        assert max(abs(plain.p[label] - answers[index].p[label]) for label in plain.p) < 1e-4


def test_an_encoder_decoder_writes_what_it_would_write_alone(tmp_path):
    "Prompts of several lengths in one batch, each with its own seed; and greedy as transformers."
    folder = build_reader(tmp_path)
    who, greedy = (
        participant(f"hf/{folder}", temperature=each, max_tokens=12) for each in (1.0, 0.0)
    )
    requests = [REQUESTS[0], REQUESTS[-1], REQUESTS[2]]
    together = dict(who.answers(requests, "text"))
    for index, request in enumerate(requests):
        alone = next(who.answers([request], "text"))[1]
        assert alone.response == together[index].response != ""
    (prompt,) = greedy.prompts([ITEMS[0]])
    model = transformers.T5ForConditionalGeneration.from_pretrained(folder)
    said = model.generate(torch.tensor([prompt]), max_new_tokens=12, do_sample=False)[0, 1:]
    written = next(greedy.answers(REQUESTS[:1], "text"))[1].response
    assert written == greedy.tokenizer.decode(said)


def test_what_says_nothing_is_refused(tmp_path):
    "An encoder, and half a model: one line each, before anything is asked."
    encoder = tmp_path / "encoder"
    config = transformers.BertConfig(
        vocab_size=1024,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
    )
    transformers.BertForMaskedLM(config).save_pretrained(encoder)
    tiny_tokenizer().save_pretrained(encoder)
    with pytest.raises(CogbiasError, match="BertForMaskedLM is an encoder") as refused:
        list(participant(f"hf/{encoder}").answers(REQUESTS[:1], "option_probability"))
    assert "encoder/NAME_OR_FOLDER" in str(refused.value) and "\n" not in str(refused.value)
    half = build_reader(tmp_path / "half")
    transformers.T5EncoderModel.from_pretrained(half).save_pretrained(half)
    with pytest.raises(CogbiasError, match="half: its model cannot be read"):
        list(participant(f"hf/{half}").answers(REQUESTS[:1], "option_probability"))


def test_weights_that_are_not_there_are_not_made_up(tmp_path):
    "A classifier without an output layer would answer at random."
    config = transformers.LlamaConfig(**SMALL, tie_word_embeddings=False)
    transformers.LlamaForSequenceClassification(config).save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    with pytest.raises(CogbiasError, match="has no values for 1 of its weights, lm_head.weight"):
        list(participant(f"hf/{tmp_path}").answers(REQUESTS[:1], "option_probability"))
