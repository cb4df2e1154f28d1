"""The tiny model and its kin, as docs/tiny_model.py makes them; encoders of all families."""

import transformers
from conftest import script_of_docs

from cogbias.backends.encoder import ENCODERS, encoder_config  # noqa: F401

_made = script_of_docs("tiny_model")
END, SHAPE = _made.END, _made.SHAPE
build_reader, random_model, write_gguf = _made.build_reader, _made.random_model, _made.write_gguf
tiny_folder, tiny_model, tiny_tokenizer = _made.tiny_folder, _made.tiny_model, _made.tiny_tokenizer
tiny_probabilities = _made.tiny_probabilities


def encoder_tokenizer(family, texts, vocabulary=1000):
    "A tokenizer of a family, trained on texts."
    blank = getattr(transformers, f"{ENCODERS[family]}Tokenizer")()
    return blank.train_new_from_iterator(texts, vocabulary, show_progress=False)
