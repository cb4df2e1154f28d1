"""Make data/tiny, the model of `hf/tiny`, and its kin for tests: python docs/tiny_model.py

A transformer with hand-set weights: built in seconds, without training, with probabilities that can
be written down (`tiny_probabilities`). The same numbers are written as GGUF for llama.cpp.
"""

import json
import math
import random
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

SHIPPED = Path(__file__).resolve().parent.parent / "data" / "tiny"


@dataclass(frozen=True)
class Planted:
    "The numbers that the model's answers follow."

    first: float = 0.7  # probability of A, of two letters
    brands: tuple[float, ...] = (
        0.5,
        0.3,
        0.2,
    )  # of Brand 1, Brand 2 and Brand 3, however many are offered
    valid: float = 0.6  # of the word valid
    framing: float = (
        1.2  # what the word save adds to the log-odds of A against B; lose takes it away
    )
    two_digits: float = 0.5  # share of numbers that have a second digit
    think: bool = False  # begin with a <think> block, unless the template switches it off


_COMMON_WORDS = (
    "a about all amount an and answer any are argument arguments as at average be best better big "
    "brand brands buy by calls car certain certainty chance choice choose city comes conclusion "
    "cost costs could decide dollars each every expert experts fact facts false first five follow "
    "following follows for four from fully gamble gambles game get give given good hammers have "
    "high higher how if in is it judge know known less like list logic logically long low lower "
    "make many mean money more most nothing objects of offer on one only option options or other "
    "out percent person pick play point possible prefer premise premises price prize prizes "
    "probability problem product question quality rate rated reason reply risk same say scale "
    "score second see shop should some store study such sum suppose sure take tell ten than that "
    "the them then there these they thing things think this three time tools trip true two under "
    "up valid want way week what when whether which win with without word worst worth would year "
    "years you your zero"
).split()
_LINES_OF_PROMPTS = (
    "Option A: win $2,400 with certainty.\nOption B: win $2,500 with probability 33%.\nReply with "
    "A or B only.\nAnswer:",
    "Reply with Brand 1, Brand 2 or Brand 3 only.\nBrand 1\nBrand 2\nBrand 3",
    "Reply with one word, valid or invalid.\nvalid\ninvalid\nvalid\ninvalid",
    "Answer with one number.\n42",
    "A\nB\nA\nB",
    "the plan will save or lose 200 people",
    "Is the argument valid or invalid?\n\nPremise 1:",
    "one\n\ntwo\n\nthree",
)


def _corpus(seed: int = 0) -> Iterator[str]:
    "Sentences for the tokenizer to learn its pieces from."
    draw = random.Random(seed)
    for _ in range(3000):
        words = draw.choices(_COMMON_WORDS, k=12)
        yield (
            f"{' '.join(words).capitalize()}. {words[0]} {draw.randrange(1000)} "
            f"{draw.choice(_LINES_OF_PROMPTS)}"
        )


TURN, END, TEXT_END, PAD = "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|pad|>"
THINK, UNTHINK = "<think>", "</think>"
# the pattern called qwen2
_TOKEN_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CHAT_TEMPLATE = (
    "{%- for m in messages %}{{- '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' "
    "+ '\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}THINK{%- endif %}"
)
_THINKING_SWITCH = (
    "{%- if enable_thinking is defined and enable_thinking is false %}{{- "
    "'<think>\n\n</think>\n\n' }}{%- endif %}"
)


def tiny_tokenizer(
    think: bool = False,  # whether the template can switch thinking off
    vocabulary: int = 1000,  # tokens at the most
) -> Any:  # of transformers
    "The tokenizer of the tiny model, with its chat template."
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_TOKEN_PATTERN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    pieces.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces.train_from_iterator(
        _corpus(),
        trainers.BpeTrainer(
            vocab_size=vocabulary,
            special_tokens=[PAD, TEXT_END, TURN, END],
            initial_alphabet=alphabet,
            show_progress=False,
        ),
    )
    pieces.add_tokens(
        [AddedToken(tag, special=False, normalized=False) for tag in (THINK, UNTHINK)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=pieces,
        eos_token=END,
        pad_token=PAD,
        additional_special_tokens=[TURN, TEXT_END],
        model_max_length=2048,
    )
    tokenizer.chat_template = _CHAT_TEMPLATE.replace("THINK", _THINKING_SWITCH if think else "")
    return tokenizer


_BIAS, _START, _LETTER, _WORD, _BRAND, _SPACE, _DIGIT, _THINKING = range(
    8
)  # what the current token is
_IS_BRAND, _IS_VALID, _IS_NUMBER, _FRAME = range(8, 12)  # what a prompt's word says
_SAYS_BRAND, _SAYS_VALID, _SAYS_NUMBER, _FRAMED = range(12, 16)  # what attention has found
_FRAME_WORD = 16  # 1 for save and lose alike
_THINK, _UNTHINK, _FILLER, _FILL = range(17, 21)
_SQUARE, _EPSILON, _SCORE = 8.0, 2.0**-7, 30.0
SHAPE = {
    "hidden_size": 24,
    "intermediate_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 16,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-6,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e6},
    "tie_word_embeddings": False,
}


def _features_of_tokens(planted: Planted) -> dict[str, dict[int, float]]:
    "Token -> its features."
    found: dict[str, dict[int, float]] = {
        "A": {_LETTER: 1},
        "B": {_LETTER: 1},
        "valid": {_WORD: 1, _IS_VALID: 1},
        "invalid": {_WORD: 1, _IS_VALID: 1},
        "Brand": {_BRAND: 1, _IS_BRAND: 1},
        " Brand": {_IS_BRAND: 1},
        " valid": {_IS_VALID: 1},
        " invalid": {_IS_VALID: 1},
        " number": {_IS_NUMBER: 1},
        " save": {_FRAME: 1},
        " lose": {_FRAME: -1},
        " ": {_SPACE: 1},
        ":": {_START: 1},
        "\n\n": {_START: 1},
        "\n": {_THINKING if planted.think else _START: 1},
    }
    return found | {str(digit): {_DIGIT: 1} for digit in range(10)}


def _embedding(tokenizer: Any, planted: Planted, size: int) -> "torch.Tensor":
    "One row per token, all of the same norm."
    import torch

    rows = torch.zeros(size, SHAPE["hidden_size"])
    rows[:, _BIAS] = 1.0
    for text, features in _features_of_tokens(planted).items():
        (token,) = tokenizer(text)["input_ids"]
        for dimension, value in features.items():
            rows[token, dimension] = value
    for place, tag in enumerate((THINK, UNTHINK)):
        rows[tokenizer.convert_tokens_to_ids(tag), _THINK + place] = 1.0
    (filler,) = tokenizer(" think")["input_ids"]
    rows[filler, _FILLER] = 1.0
    rows[:, _FILL] = (_SQUARE - rows.square().sum(1)).sqrt()
    return rows


def _set_attention(attention: Any) -> None:
    "Head 0 finds the kind of answer, head 1 the frame."
    size, slow = SHAPE["head_dim"], SHAPE["head_dim"] // 2 - 1
    unit = math.sqrt(SHAPE["hidden_size"] / _SQUARE)  # of a feature behind the norm
    match = (
        math.sqrt(_SCORE * math.sqrt(size)) / unit
    )  # query times key over the root of the head's size is the score
    for head, (sources, targets) in enumerate(
        [
            ((_IS_BRAND, _IS_VALID, _IS_NUMBER), (_SAYS_BRAND, _SAYS_VALID, _SAYS_NUMBER)),
            ((_FRAME,), (_FRAMED,)),
        ]
    ):
        row = head * size
        for feature in (_START, _DIGIT):
            attention.q_proj.weight.data[row + slow, feature] = match
        for place, (source, target) in enumerate(zip(sources, targets)):
            attention.k_proj.weight.data[row + slow, source] = match
            attention.v_proj.weight.data[row + place, source] = 1 / unit
            attention.o_proj.weight.data[target, row + place] = _EPSILON


def _mark_frames(rows: "torch.Tensor", attention: Any) -> None:
    "Let the second head find both words of the frame, whatever their sign."
    size, slow = SHAPE["head_dim"], SHAPE["head_dim"] // 2 - 1
    rows[:, _FRAME_WORD] = rows[:, _FRAME].abs()
    rows[:, _FILL] = 0
    rows[:, _FILL] = (_SQUARE - rows.square().sum(1)).sqrt()
    keys = attention.k_proj.weight.data
    keys[size + slow, _FRAME_WORD], keys[size + slow, _FRAME] = (
        keys[size + slow, _FRAME].clone(),
        0.0,
    )


_SURE_LOGIT = 80.0  # from -40 to 40


def _logits_of_features(planted: Planted) -> dict[str, dict[int, float]]:
    "Token -> what each feature adds to its logit."
    log = math.log
    letters = {_START: _SURE_LOGIT, _SAYS_BRAND: -100.0, _SAYS_VALID: -100.0, _SAYS_NUMBER: -100.0}
    half = planted.framing / 2
    table = {
        "A": {**letters, _START: _SURE_LOGIT + log(planted.first), _FRAMED: half},
        "B": {**letters, _START: _SURE_LOGIT + log(1 - planted.first), _FRAMED: -half},
        "valid": {_SAYS_VALID: _SURE_LOGIT + log(planted.valid)},
        "invalid": {_SAYS_VALID: _SURE_LOGIT + log(1 - planted.valid)},
        "Brand": {_SAYS_BRAND: _SURE_LOGIT},
        " ": {_BRAND: _SURE_LOGIT},
    }
    for digit in range(10):
        first, second = log(1 / 9) if digit else -20.0, log(planted.two_digits / 10)
        table[str(digit)] = {_START: 20.0, _SAYS_NUMBER: 60 + first, _DIGIT: 20.0 + second - first}
    for place, share in enumerate(planted.brands, 1):
        table[str(place)][_SPACE] = _SURE_LOGIT + log(share)
    return table


def _output_layer(tokenizer: Any, planted: Planted, size: int) -> "torch.Tensor":
    "The output layer: every logit from the features of the last token and what attention found."
    import torch

    norm = math.sqrt(_SQUARE / SHAPE["hidden_size"])  # undoes the final norm
    weights = torch.zeros(size, SHAPE["hidden_size"])
    weights[:, _BIAS] = -40.0
    table = {
        tokenizer(text)["input_ids"][0]: features
        for text, features in _logits_of_features(planted).items()
    }
    end, think, unthink = (
        tokenizer.convert_tokens_to_ids(token) for token in (END, THINK, UNTHINK)
    )
    (filler,), (empty,) = tokenizer(" think")["input_ids"], tokenizer("\n\n")["input_ids"]
    table[end] = {
        _LETTER: _SURE_LOGIT,
        _WORD: _SURE_LOGIT,
        _DIGIT: _SURE_LOGIT,
        _SAYS_NUMBER: math.log(1 - planted.two_digits),
    }
    table |= {
        think: {_THINKING: _SURE_LOGIT},
        filler: {_THINK: _SURE_LOGIT},
        unthink: {_FILLER: _SURE_LOGIT},
        empty: {_UNTHINK: _SURE_LOGIT},
    }
    for token, features in table.items():
        for dimension, logit in features.items():
            weights[token, dimension] += logit / (
                _EPSILON if dimension in (_SAYS_BRAND, _SAYS_VALID, _SAYS_NUMBER, _FRAMED) else 1
            )
    return weights * norm


def tiny_model(
    tokenizer: Any,  # from tiny_tokenizer
    planted: Planted = Planted(),  # what its answers follow
) -> Any:  # of transformers, ready to answer
    "The model, with its weights set."
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

    size = -(-len(tokenizer) // 64) * 64
    special = {
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    model = LlamaForCausalLM(LlamaConfig(vocab_size=size, dtype="float32", **special, **SHAPE))
    for name, weight in model.named_parameters():
        weight.data.fill_(1.0 if "norm" in name else 0.0)
    rows, attention = _embedding(tokenizer, planted, size), model.model.layers[0].self_attn
    _set_attention(attention)
    _mark_frames(rows, attention)
    model.model.embed_tokens.weight.data.copy_(rows)
    model.lm_head.weight.data.copy_(_output_layer(tokenizer, planted, size))
    model.generation_config = GenerationConfig(**special)
    return model.eval().requires_grad_(False)


def _framed_odds(planted: Planted, prompt: str) -> dict[str, float]:
    "A and B, moved by the mean of the framing words."
    frames = [1] * prompt.count(" save") + [-1] * prompt.count(" lose")
    shift = planted.framing * sum(frames) / len(frames) if frames else 0.0
    first = planted.first * math.exp(shift / 2)
    second = (1 - planted.first) * math.exp(-shift / 2)
    return {"A": first / (first + second), "B": second / (first + second)}


def tiny_probabilities(
    prompt: str,  # what is asked
    planted: Planted = Planted(),  # what the answers follow
) -> dict[str, float]:  # answer -> probability; of numbers those of one and two digits
    "What the tiny model answers, computed without it."
    if "Brand" in prompt:
        return {f"Brand {place}": share for place, share in enumerate(planted.brands, 1)}
    if "valid" in prompt:
        return {"valid": planted.valid, "invalid": 1 - planted.valid}
    if " number" not in prompt:
        return _framed_odds(planted, prompt)
    single, double = (
        (1 - planted.two_digits) / 9,
        planted.two_digits / 10 * (1 - planted.two_digits) / 9,
    )
    return {str(n): single if n < 10 else double for n in range(1, 100)}


def _interleaved_rows(weight: Any, heads: int) -> Any:
    "Rows of a projection in the order of llama.cpp's rotary layout."
    import numpy as np

    size = weight.shape[0] // heads
    return np.ascontiguousarray(
        weight.reshape(heads, 2, size // 2, -1).swapaxes(1, 2).reshape(weight.shape)
    )


def _write_shape(writer: Any, config: Any) -> None:
    "What llama.cpp must know of the architecture."
    import gguf

    writer.add_name("cogbias-tiny")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(float(config.rope_parameters["rope_theta"]))
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_vocab_size(config.vocab_size)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)


def _write_tokenizer(writer: Any, tokenizer: Any, size: int) -> None:
    "The tokens, what they are, and the template."
    import gguf

    kinds, names = gguf.TokenType, {index: token for token, index in tokenizer.get_vocab().items()}
    added = {
        index: kinds.CONTROL if token.special else kinds.USER_DEFINED
        for index, token in tokenizer.added_tokens_decoder.items()
    }
    merges = json.loads(tokenizer.backend_tokenizer.to_str())["model"]["merges"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list([names.get(index, f"[unused {index}]") for index in range(size)])
    writer.add_token_types(
        [
            added.get(index, kinds.NORMAL if index in names else kinds.UNUSED)
            for index in range(size)
        ]
    )
    writer.add_token_merges([pair if isinstance(pair, str) else " ".join(pair) for pair in merges])
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_pad_token_id(tokenizer.pad_token_id)
    writer.add_add_bos_token(False)
    writer.add_chat_template(tokenizer.chat_template)


_NAMES_IN_GGUF = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def write_gguf(
    model: Any,  # a llama of transformers
    tokenizer: Any,  # byte-level BPE with the pattern qwen2
    path: Path,  # file to write
) -> Path:
    "Write a small llama model in 32 bits for llama.cpp."
    import gguf

    writer, config = gguf.GGUFWriter(str(path), "llama"), model.config
    _write_shape(writer, config)
    _write_tokenizer(writer, tokenizer, config.vocab_size)
    weights = {name: weight.detach().float().numpy() for name, weight in model.state_dict().items()}
    for name, source in (
        ("token_embd", "model.embed_tokens"),
        ("output_norm", "model.norm"),
        ("output", "lm_head"),
    ):
        writer.add_tensor(f"{name}.weight", weights[f"{source}.weight"])
    for layer in range(config.num_hidden_layers):
        for source, name in _NAMES_IN_GGUF.items():
            weight = weights[f"model.layers.{layer}.{source}.weight"]
            writer.add_tensor(
                f"blk.{layer}.{name}.weight",
                _interleaved_rows(weight, config.num_attention_heads)
                if name in ("attn_q", "attn_k")
                else weight,
            )
    for step in (
        writer.write_header_to_file,
        writer.write_kv_data_to_file,
        writer.write_tensors_to_file,
        writer.close,
    ):
        step()
    return path


def build_tiny(
    folder: Path | str,  # where to write; made if need be
    planted: Planted = Planted(),  # what its answers follow
) -> Path:  # the folder: safetensors, tokenizer, template, tiny.gguf, planted.json
    "Build the tiny model."
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = tiny_tokenizer(planted.think)
    model = tiny_model(tokenizer, planted)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    write_gguf(model, tokenizer, folder / "tiny.gguf")
    (folder / "planted.json").write_text(json.dumps(asdict(planted), indent=1), encoding="utf-8")
    return folder


@cache
def tiny_folder(
    **planted: Any,  # fields of Planted
) -> Path:  # a folder as build_tiny makes it, for this process
    "The tiny model for a test; its folder goes when the process ends."
    folder = tempfile.TemporaryDirectory()
    _FOLDERS.append(folder)
    return build_tiny(folder.name, Planted(**planted))


_FOLDERS: list[tempfile.TemporaryDirectory] = []


def random_model(
    hidden: int = 64,  # size of the residual stream
    layers: int = 2,  # transformer blocks
    heads: int = 4,  # attention heads
    inner: int = 128,  # size of the feed-forward layer
    vocabulary: int = 1024,  # rows of the output layer; at least the tokenizer's
    tied: bool = True,  # one matrix for input and output
    seed: int = 0,  # of the weights
) -> Any:  # of transformers
    "A llama with random weights."
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = LlamaForCausalLM(
            LlamaConfig(
                hidden_size=hidden,
                num_hidden_layers=layers,
                num_attention_heads=heads,
                num_key_value_heads=heads,
                intermediate_size=inner,
                vocab_size=vocabulary,
                tie_word_embeddings=tied,
                max_position_embeddings=2048,
                initializer_range=0.05,
                bos_token_id=None,
                eos_token_id=3,
                pad_token_id=0,
            )
        )
    return model.eval().requires_grad_(False)


def build_reader(
    folder: Path | str,  # where to write; made if need be
    seed: int = 0,  # of the weights
) -> Path:  # the folder: safetensors and tokenizer
    "Build a T5 with random weights and a tokenizer of its own."
    import torch
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
    from tokenizers import processors, trainers
    from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

    pieces = Tokenizer(models.Unigram())
    pieces.normalizer = normalizers.Replace(Regex(r"\s+"), " ")
    pieces.pre_tokenizer = pre_tokenizers.Metaspace()
    pieces.decoder = decoders.Metaspace()
    special = ["<pad>", "</s>", "<unk>"]
    pieces.train_from_iterator(
        _corpus(),
        trainers.UnigramTrainer(
            vocab_size=600, special_tokens=special, unk_token="<unk>", show_progress=False
        ),
    )
    pieces.post_processor = processors.TemplateProcessing("$A </s>", special_tokens=[("</s>", 1)])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=pieces, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = T5ForConditionalGeneration(
            T5Config(
                vocab_size=len(tokenizer),
                d_model=64,
                d_kv=16,
                d_ff=96,
                num_layers=2,
                num_heads=4,
                decoder_start_token_id=0,
                initializer_factor=2.0,
            )
        )
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return Path(folder)


def ship() -> None:
    "Make data/tiny anew."
    shutil.rmtree(SHIPPED, ignore_errors=True)
    build_tiny(SHIPPED)
    for name in ("tiny.gguf", "planted.json"):
        (SHIPPED / name).unlink()


if __name__ == "__main__":
    ship()
