"""Weights that write: words drawn one by one, each with a probability that is known.

Without a schema they write words and nothing else, so JSON comes only from a server that was told.
"""

import math

from tiny_models import END, SHAPE, tiny_model, tiny_tokenizer, write_gguf

NOUNS = (" brands", " tools", " facts", " experts", " years", " things")  # keep to every rule
NUMBER = " two"  # breaks one
CHANCES = {name: 0.11 for name in NOUNS} | {NUMBER: 0.04, '"': 0.3}  # of what comes next


def writing_gguf(folder):
    "A GGUF file whose every token has one probability, wherever it stands."
    tokenizer = tiny_tokenizer()
    model = tiny_model(tokenizer)
    for name, weight in model.named_parameters():
        weight.data.fill_(1.0 if "norm" in name else 0.0)
    model.model.embed_tokens.weight.data[:, 0] = 1.0
    unit = math.sqrt(SHAPE["hidden_size"])  # of that one feature behind the norm
    logits = model.lm_head.weight.data
    logits[:, 0] = -30 / unit
    for text, chance in CHANCES.items():
        (token,) = tokenizer(text)["input_ids"]
        logits[token, 0] = math.log(chance) / unit
    for text in ("{", "}", ":"):
        (token,) = tokenizer(text)["input_ids"]
        logits[token, 0] = -12 / unit
    logits[tokenizer.convert_tokens_to_ids(END), 0] = math.log(0.02) / unit
    return write_gguf(model, tokenizer, folder / "writing.gguf")
