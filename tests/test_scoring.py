"""The scorer against one prompt at a time, for tiny random models of many architectures."""

import copy
import logging
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from cogbias.elicitation import scoring  # noqa: E402
from cogbias.elicitation.scoring import Scorer  # noqa: E402

VOCABULARY = 211
SHAPE = {
    **{"vocab_size": VOCABULARY, "hidden_size": 64, "intermediate_size": 128, "head_dim": 16},
    **{"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2},
    **{"max_position_embeddings": 256, "initializer_range": 0.2},
    **{"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2},
}
CAPS = {"attn_logit_softcapping": 5.0, "final_logit_softcapping": 30.0}
TREE = dict.fromkeys("Llama Qwen2 Qwen3 Gemma Gemma3Text Mistral GPTNeoX Phi".split(), {})
TREE |= {"GPT2": {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 256}}
TREE |= {"Gemma2": {"query_pre_attn_scalar": 16, **CAPS}}
LOCAL = {"attention_types": [[["global", "local"], 1]], "window_size": 8}
ROWS = {
    "Bloom": {"n_layer": 2, "n_head": 4},
    "Mamba": {"state_size": 8},
    "Rwkv": {"attention_hidden_size": 64},
    "GPTNeo": {"num_layers": 2, "num_heads": 4, **LOCAL},
}


def build(kind, dtype=torch.float32, **more):
    "A tiny random model."
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(**SHAPE | {**TREE, **ROWS}.get(kind, {}) | more)
    return transformers.AutoModelForCausalLM.from_config(config).eval().to(dtype)


def prompts(longest=60):
    "Sequences that share beginnings: nested, twice, parting early and late, one token long."
    generator = np.random.default_rng(1)
    stem = generator.integers(3, VOCABULARY, longest).tolist()
    parting = [
        stem[:kept] + generator.integers(3, VOCABULARY, new).tolist()
        for kept, new in ((10, 5), (20, 9), (20, 3), (3, 30), (12, longest - 12))
    ]
    return [*parting, stem, stem[:-1], stem[:20], stem[:1], [7], stem, parting[0]]


def plain(model, sequences, temperature=1.0):
    "One after the other."
    with torch.inference_mode():
        logits = [
            model(input_ids=torch.tensor([each]), use_cache=False).logits[0, -1].double()
            for each in sequences
        ]
    return [torch.log_softmax(each / temperature, -1).numpy() for each in logits]


EVERY = np.arange(VOCABULARY)


def deviation(scorer, model, sequences, temperature=1.0):
    "Largest difference between a scorer and the plain loop."
    found = scorer.next_logprobs(sequences, [EVERY] * len(sequences), temperature)
    return max(
        np.abs(one - other).max()
        for one, other in zip(found, plain(model, sequences, temperature), strict=True)
    )


@pytest.mark.parametrize("budget", [None, 7])
@pytest.mark.parametrize("kind", TREE)
def test_tree_agrees_with_one_prompt_at_a_time(kind, budget):
    model = build(kind)
    before, state = model.config._attn_implementation, copy.deepcopy(model.state_dict())
    scorer = Scorer(model, token_budget=budget)
    assert scorer.way == "tree" and scorer.why == ""
    assert deviation(scorer, model, prompts()) < 1e-4
    assert model.config._attn_implementation == before and "forward" not in {
        name for each in model.modules() for name in vars(each)
    }
    assert all(torch.equal(state[name], each) for name, each in model.state_dict().items())


@pytest.mark.parametrize("kind", ROWS)
def test_other_architectures_say_why_and_agree(kind, caplog):
    model = build(kind)
    with caplog.at_level(logging.WARNING, logger="cogbias"):
        scorer = Scorer(model, token_budget=100)
    assert scorer.way == "rows" and scorer.why
    assert [
        record.getMessage().count(scorer.why)
        for record in caplog.records
        if record.name.startswith("cogbias")
    ] == [1]
    assert deviation(scorer, model, prompts()) < 1e-4


@pytest.mark.parametrize("kind", ["Llama", "GPT2", "Gemma2"])
def test_bfloat16_stays_as_close_as_its_digits_allow(kind):
    model = build(kind, torch.bfloat16)
    scorer = Scorer(model)
    exact, found = (
        plain(build(kind).to(torch.bfloat16).float(), prompts()),
        scorer.next_logprobs(prompts(), [EVERY] * len(prompts())),
    )
    own = np.sqrt(
        np.mean([np.square(one - other) for one, other in zip(plain(model, prompts()), exact)])
    )
    off = np.sqrt(np.mean([np.square(one - other) for one, other in zip(found, exact)]))
    assert (
        scorer.way == "tree" and off < 1.5 * own
    )  # against the same weights in 32 bits the tree errs like the plain loop


def test_a_wrong_mask_is_found_out_in_16_bits_too(monkeypatch, caplog):
    visible = scoring.visible
    monkeypatch.setattr(scoring, "visible", lambda depth: np.ones_like(visible(depth)))
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        assert Scorer(build("Llama", dtype)).way == "rows"


@pytest.mark.parametrize("kind", ["Mistral", "Gemma3Text", "Qwen2"])
def test_sequences_longer_than_the_window_go_by_rows(kind):
    layers = {} if kind == "Mistral" else {"layer_types": ["sliding_attention", "full_attention"]}
    window = {"sliding_window": 25, "use_sliding_window": True} | layers
    model = build(kind, **window)
    scorer = Scorer(model)
    assert scorer.way == "tree" and scorer.reach == 25
    assert deviation(scorer, model, prompts()) < 1e-4


@cache
def qwen():
    "A scorer and its model, made once for all examples."
    model = build("Qwen3")
    return Scorer(model), model


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12), min_size=1, max_size=12),
    st.integers(1, 20),
)
def test_any_sequences(sequences, budget):
    scorer, model = qwen()
    scorer._budgets = budget, 9
    assert deviation(scorer, model, sequences) < 1e-4
