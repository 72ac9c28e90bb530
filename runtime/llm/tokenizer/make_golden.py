"""Writes test cases for the tokenizers: a small tokenizer of each kind, and its results on random strings.

    pip install tokenizers==0.23.3
    python make_golden.py testdata                       # the files of the test
    python make_golden.py /tmp/cases --count 10000       # README.md, "Checks"

A file has the tokenizer.json and, per string, the ids with and without special tokens and their text.
The same arguments give the same strings and, except for bert, bert_cased and mixed, whose trainers order equal pairs
at random, the same tokenizers.
"""

import argparse
import collections
import json
import math
import pathlib
import random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers
from tokenizers import pre_tokenizers as pre
from tokenizers import processors, trainers

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")

# First and last code points: scripts, symbols, spaces, marks, private use.
RANGES = [
    (0x20, 0x7E), (0xA0, 0xFF), (0x100, 0x17F), (0x1E00, 0x1EFF), (0x250, 0x2AF), (0x300, 0x341),
    (0x391, 0x3C9), (0x1F00, 0x1F15), (0x400, 0x45F), (0x531, 0x556), (0x5D0, 0x5EA), (0x591, 0x5BD),
    (0x621, 0x652), (0x660, 0x669), (0x710, 0x72F), (0x780, 0x7A5), (0x905, 0x94D), (0x958, 0x96F),
    (0x985, 0x98C), (0x9BE, 0x9C4), (0xA05, 0xA0A), (0xA85, 0xA8D), (0xB05, 0xB0C), (0xB85, 0xB8A),
    (0xC05, 0xC0C), (0xC85, 0xC8C), (0xD05, 0xD0C), (0xD85, 0xD96), (0xE01, 0xE3A), (0xE40, 0xE4E),
    (0xE81, 0xE82), (0xF40, 0xF47), (0x1000, 0x1031), (0x10D0, 0x10F0), (0x1100, 0x1112), (0x1161, 0x1175),
    (0x1200, 0x1248), (0x13A0, 0x13F4), (0x1401, 0x1430), (0x16A0, 0x16EA), (0x1780, 0x17B3), (0x1820, 0x1842),
    (0x2000, 0x200F), (0x2010, 0x2027), (0x2028, 0x202F), (0x2030, 0x205E), (0x2070, 0x2071), (0x20A0, 0x20BF),
    (0x2100, 0x214F), (0x2150, 0x2188), (0x2190, 0x21FF), (0x2200, 0x22FF), (0x2460, 0x24FF), (0x2500, 0x257F),
    (0x2D30, 0x2D67), (0x3000, 0x303F), (0x3041, 0x3096), (0x30A1, 0x30FA), (0x3105, 0x312F), (0x3300, 0x3357),
    (0x4E00, 0x9FA5), (0xA000, 0xA48C), (0xAC00, 0xD7A3), (0xE000, 0xE010), (0xF900, 0xFA2D), (0xFB00, 0xFB06),
    (0xFB1D, 0xFB36), (0xFE70, 0xFE74), (0xFF01, 0xFF5E), (0xFFFC, 0xFFFD), (0x10000, 0x1000B), (0x10330, 0x1034A),
    (0x1D400, 0x1D454), (0x1F300, 0x1F5FF), (0x1F600, 0x1F64F), (0x1F1E6, 0x1F1FF), (0x20000, 0x200FF),
    (0x2F800, 0x2FA1D), (0x1, 0x1F), (0x7F, 0x9F), (0xE0020, 0xE0030),
]  # fmt: skip
WORDS = """the and of to in is it's we'll I'M they've don't can't Hello, world! tokens tokenizer cafe\u0301 café naïve straße STRASSE
İstanbul ΑΣ ﬁnal Ａｂｃ ① ½ x² 1234567 3.14159 2026-11-28 foo_bar fooBar __init__ (a+b)*c == d; {"k": [1, 2]} https://x.org/?q=1
\tindent \n\n \r\n  a   b <s> </s> <|endoftext|> [MASK] <new> New ▁ ▁x <0x41> 你好 世界 こんにちは 안녕하세요 สวัสดี مرحبا שלום नमस्ते Привет 👩‍👩‍👧 🇩🇪 é""".split(" ")


def random_string(rng):
    parts = []
    for _ in range(rng.randint(0, 8)):
        kind = rng.random()
        if kind < 0.45:
            parts.append(rng.choice(WORDS))
        elif kind < 0.8:
            first, last = rng.choice(RANGES)
            parts.append("".join(chr(rng.randint(first, last)) for _ in range(rng.randint(1, 6))))
        elif kind < 0.9:
            parts.append("".join(rng.choice(" \t\n\r\u00a0\u3000") for _ in range(rng.randint(1, 4))))
        else:
            parts.append("".join(chr(rng.randint(*rng.choice(RANGES))) for _ in range(rng.randint(1, 6))))
        if rng.random() < 0.6:
            parts.append(" ")
    return "".join(parts)


def corpus():
    rng = random.Random(1)
    return [random_string(rng) for _ in range(2000)] + [" ".join(WORDS)] * 20


def train(tokenizer, trainer, characters=None):
    """`characters`: the most frequent ones that are kept. The trainer's own limit is not deterministic."""
    strings = corpus()
    if characters:
        counts = collections.Counter("".join(strings))
        kept = set(sorted(counts, key=lambda c: (-counts[c], c))[:characters])
        strings = ["".join(c for c in string if c in kept) for string in strings]
    tokenizer.train_from_iterator(strings, trainer)
    return tokenizer


def byte_level(pattern, normalizer=None, ignore_merges=False):
    """GPT-2 without a pattern; Llama 3 and Qwen with theirs."""
    t = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if normalizer:
        t.normalizer = normalizer
    if pattern:
        t.pre_tokenizer = pre.Sequence(
            [pre.Split(Regex(pattern), "isolated"), pre.ByteLevel(add_prefix_space=False, use_regex=False)]
        )
    else:
        t.pre_tokenizer = pre.ByteLevel(add_prefix_space=False)
    train(t, trainers.BpeTrainer(vocab_size=500, show_progress=False, special_tokens=["<|endoftext|>", "<s>"],
                                 initial_alphabet=pre.ByteLevel.alphabet()))  # fmt: skip
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.Sequence(
        [processors.ByteLevel(trim_offsets=False),
         processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])]
    )  # fmt: skip
    t.add_tokens([AddedToken("<new>", lstrip=True, rstrip=True, normalized=False), AddedToken("New", single_word=True)])
    return t


BYTES = [f"<0x{b:02X}>" for b in range(256)]


def byte_fallback(gemma):
    """Llama 2: prepended space; Gemma: no prefix, split at spaces."""
    t = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    replace = normalizers.Replace(" ", "▁")
    t.normalizer = replace if gemma else normalizers.Sequence([normalizers.Prepend("▁"), replace])
    train(t, trainers.BpeTrainer(vocab_size=700, show_progress=False,
                                 special_tokens=["<unk>", "<s>", "</s>"] + BYTES), 150)  # fmt: skip
    data = json.loads(t.to_str())
    # Byte tokens are ordinary tokens of the model.
    data["added_tokens"] = [a for a in data["added_tokens"] if not a["content"].startswith("<0x")]
    t = Tokenizer.from_str(json.dumps(data))
    if gemma:
        t.pre_tokenizer = pre.Split(" ", "merged_with_previous")
        t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
        t.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    else:
        t.decoder = decoders.Sequence(
            [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        )
        t.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
        )
    return t


def unigram():
    # The trainer's result depends on the machine: substrings of words and their frequencies instead.
    counts = {}
    for word in WORDS:
        word = "▁" + word
        for i in range(len(word)):
            for n in range(1, min(6, len(word) - i) + 1):
                counts[word[i : i + n]] = counts.get(word[i : i + n], 0) + n
    pieces = sorted(counts, key=lambda piece: (-counts[piece], piece))[:500]
    vocab = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0)]
    vocab += [(piece, round(math.log(counts[piece] / 5000), 4)) for piece in pieces]
    t = Tokenizer(models.Unigram(vocab, unk_id=0, byte_fallback=False))
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre.Metaspace(prepend_scheme="first")
    t.decoder = decoders.Metaspace(prepend_scheme="first")
    t.add_special_tokens(["<s>", "</s>"])
    return t


def word_piece(cased):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=20))
    t.normalizer = normalizers.BertNormalizer(lowercase=not cased)
    t.pre_tokenizer = pre.BertPreTokenizer()
    train(t, trainers.WordPieceTrainer(vocab_size=700, show_progress=False,
                                       special_tokens=["[UNK]", "[CLS]", "[SEP]", "[MASK]"]), 300)  # fmt: skip
    t.decoder = decoders.WordPiece()
    t.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return t


def mixed():
    """The remaining types in one tokenizer."""
    t = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>", fuse_unk=False))
    t.normalizer = normalizers.Sequence(
        [normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents(), normalizers.Strip()]
    )
    t.pre_tokenizer = pre.Sequence(
        [pre.WhitespaceSplit(), pre.Punctuation("contiguous"), pre.Digits(individual_digits=False),
         pre.CharDelimiterSplit("x")]
    )  # fmt: skip
    train(t, trainers.BpeTrainer(vocab_size=500, show_progress=False, end_of_word_suffix="</w>",
                                 special_tokens=["<unk>"]), 120)  # fmt: skip
    t.decoder = decoders.BPEDecoder()
    return t


def words():
    t = Tokenizer(models.WordLevel(unk_token="<unk>"))
    t.normalizer = normalizers.NFKD()
    t.pre_tokenizer = pre.Sequence([pre.Whitespace(), pre.Digits(individual_digits=True)])
    train(t, trainers.WordLevelTrainer(vocab_size=300, show_progress=False, special_tokens=["<unk>"]))
    return t


KINDS = {
    "gpt2": lambda: byte_level(None),
    "llama3": lambda: byte_level(LLAMA3, ignore_merges=True),
    "qwen": lambda: byte_level(QWEN, normalizers.NFC()),
    "llama2": lambda: byte_fallback(False),
    "gemma": lambda: byte_fallback(True),
    "unigram": unigram,
    "bert": lambda: word_piece(False),
    "bert_cased": lambda: word_piece(True),
    "mixed": mixed,
    "word_level": words,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=40, help="strings per tokenizer")
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    for kind, make in KINDS.items():
        tokenizer = make()
        rng = random.Random(args.seed)
        texts = [" ".join(WORDS)] + [random_string(rng) for _ in range(args.count)]
        cases = []
        for text in texts:
            ids = tokenizer.encode(text).ids
            plain = tokenizer.encode(text, add_special_tokens=False).ids
            cases.append([text, ids, plain, tokenizer.decode(ids), tokenizer.decode(ids, skip_special_tokens=False)])
        content = {"tokenizer": json.loads(tokenizer.to_str()), "cases": cases}
        path = args.output / f"{kind}.json"
        path.write_text(json.dumps(content, ensure_ascii=True, separators=(",", ":")) + "\n")
        print(kind, len(cases), path.stat().st_size)


if __name__ == "__main__":
    main()
