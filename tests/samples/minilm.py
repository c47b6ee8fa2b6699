"""MiniLM and its tokenizer in NumPy, which the tests compare with."""
import math
import unicodedata

import numpy
import safetensors.numpy

HEADS, LAYERS = 12, 6


class Vocabulary:
    """BERT's tokenizer as its paper's code has it, by Python's tables of characters."""

    def __init__(self, path):
        lines = path.read_text(encoding="utf-8").split("\n")
        self.tokens = {line: i for i, line in enumerate(lines)}

    @staticmethod
    def words(text):
        out = ""
        for c in unicodedata.normalize("NFD", text.lower()):
            category = unicodedata.category(c)
            if c in "\t\n\r" or category == "Zs":
                out += " "
            elif category in ("Mn", "Cc", "Cf"):
                continue
            elif category[0] == "P" or c in "$+<=>^`|~" or 0x4E00 <= ord(c) <= 0x9FFF:
                out += f" {c} "
            else:
                out += c
        return out.split()

    def pieces(self, word):
        out, at = [], 0
        while at < len(word):
            ends = [end for end in range(len(word), at, -1)
                    if ("##" if at else "") + word[at:end] in self.tokens]
            if not ends:
                return [self.tokens["[UNK]"]]
            out.append(self.tokens[("##" if at else "") + word[at:ends[0]]])
            at = ends[0]
        return out

    def of(self, text):
        inner = [token for word in self.words(text) for token in self.pieces(word)]
        return [self.tokens["[CLS]"], *inner[:254], self.tokens["[SEP]"]]


def weights_of(path):
    """The weights of a safetensors file, in float64."""
    return {name: value.astype(numpy.float64) if value.dtype == numpy.float32 else value
            for name, value in safetensors.numpy.load_file(path).items()}


def states(weights, tokens):
    """The last hidden states of one text."""

    def dense(name, x):
        return x @ weights[name + ".weight"].T + weights[name + ".bias"]

    def norm(name, x):
        x = x - x.mean(-1, keepdims=True)
        x = x / numpy.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-12)
        return x * weights[name + ".weight"] + weights[name + ".bias"]

    def gelu(x):
        erf = numpy.vectorize(math.erf)
        return x * 0.5 * (1 + erf(x / 2 ** 0.5))

    embeddings = "embeddings."
    x = norm(embeddings + "LayerNorm", weights[embeddings + "word_embeddings.weight"][tokens] +
             weights[embeddings + "position_embeddings.weight"][:len(tokens)] +
             weights[embeddings + "token_type_embeddings.weight"][0])
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}."
        query, key, value = (dense(f"{layer}attention.self.{name}", x).reshape(len(x), HEADS, -1)
                             for name in ("query", "key", "value"))
        scores = numpy.einsum("qhd,khd->hqk", query, key) / query.shape[-1] ** 0.5
        chances = numpy.exp(scores - scores.max(-1, keepdims=True))
        chances /= chances.sum(-1, keepdims=True)
        mixed = numpy.einsum("hqk,khd->qhd", chances, value).reshape(x.shape)
        x = norm(layer + "attention.output.LayerNorm",
                 x + dense(layer + "attention.output.dense", mixed))
        x = norm(layer + "output.LayerNorm",
                 x + dense(layer + "output.dense", gelu(dense(layer + "intermediate.dense", x))))
    return x


def embedding(states):
    """What a text's hidden states mean: the direction of their mean."""
    mean = states.mean(0)
    return mean / numpy.linalg.norm(mean)
