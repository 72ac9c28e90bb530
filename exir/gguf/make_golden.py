"""Writes testdata/: small GGUF files with the results of gguf, transformers and tokenizers.

    python exir/gguf/make_golden.py

tensor_types.gguf   for each type T a tensor "T" and its values "T.values", by gguf.quants.dequantize
llama, qwen3, gemma3 .gguf  models of random weights of many types, with a small tokenizer
llama, qwen3, gemma3 .json  tokens, transformers' float32 logits of the same dequantized weights, and the
                            likeliest tokens

Versions: gguf 0.19.0, torch 2.13, transformers 5.24.
"""

import json
import os

import gguf
import numpy as np
import torch
import transformers
from gguf import GGMLQuantizationType as T

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "testdata")
TOKENS = 96


def random_blocks(random, type_, rows, columns, size):
    """Returns blocks of random bits with scales such that values are about `size`."""
    elements, bytes_ = gguf.GGML_QUANT_SIZES[type_]
    blocks = random.integers(0, 256, (rows, columns // elements, bytes_), dtype=np.uint8)

    def scale(at, largest, signed=True):
        d = random.uniform(0.5, 1, blocks.shape[:2]) * size / largest
        if signed:
            d *= random.choice([-1, 1], blocks.shape[:2])
        blocks[:, :, at : at + 2] = d.astype(np.float16)[..., None].view(np.uint8)

    if type_ == T.Q6_K:
        scale(208, 32 * 64)
    elif type_ in (T.Q4_K, T.Q5_K):
        # The minimum is about half of the largest value.
        largest = 15 if type_ == T.Q4_K else 31
        scale(0, 32 * largest / 2, signed=False)
        scale(2, 32, signed=False)
    else:
        raise NotImplementedError(type_)
    return blocks.reshape(rows, -1)


def encode(random, type_, rows, columns, size):
    """Returns a random matrix as stored, and its values."""
    if type_ in (T.Q4_K, T.Q5_K, T.Q6_K):
        stored = random_blocks(random, type_, rows, columns, size)
    else:
        values = (random.standard_normal((rows, columns)) * size / 2).astype(np.float32)
        stored = gguf.quants.quantize(values, type_)
    return stored, gguf.quants.dequantize(stored, type_)


def add(writer, name, stored, type_):
    writer.add_tensor(name, np.ascontiguousarray(stored), raw_dtype=type_)


def write(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_types():
    random = np.random.default_rng(1)
    writer = gguf.GGUFWriter(os.path.join(FOLDER, "tensor_types.gguf"), "none")
    for type_ in (T.F16, T.BF16, T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q8_0, T.Q4_K, T.Q5_K, T.Q6_K):
        stored, values = encode(random, type_, 2, 512, 3.0)
        if type_ not in (T.F16, T.BF16):
            # A block without scale: d is 0.
            at = 208 if type_ == T.Q6_K else 0
            stored.reshape(-1, gguf.GGML_QUANT_SIZES[type_][1])[1, at : at + 2] = 0
            values = gguf.quants.dequantize(stored, type_)
        add(writer, type_.name, stored, type_)
        add(writer, type_.name + ".values", values, T.F32)
    write(writer)


def add_tokenizer(writer, architecture):
    """Adds characters and a few pairs, so that prompts are short."""
    pairs = ["he", "in", "an", "hea", "ing"]
    if architecture == "llama":  # BPE of bytes
        # Characters of the byte alphabet of GPT-2.
        tokens = ["<|end|>"] + [chr(c) for c in range(33, 114)] + ["\u0120"] + pairs
        merges = ["h e", "i n", "a n", "he a", "in g"]
        types = [3] + [1] * (len(tokens) - 1)
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("llama-bpe")
        writer.add_token_merges(merges)
        writer.add_bos_token_id(0)
        writer.add_add_bos_token(True)
    else:
        tokens = ["<pad>", "<eos>", "<bos>", "<unk>"] + [chr(c) for c in range(33, 114)] + ["\u2581"] + pairs
        types = [3, 3, 3, 2] + [1] * (len(tokens) - 4)
        scores = [0.0] * 4 + [-1000.0 - i for i in range(len(tokens) - 4)]
        for i, pair in enumerate(pairs):
            scores[tokens.index(pair)] = -1.0 - i
        writer.add_tokenizer_model("llama")
        writer.add_token_scores(scores + [-9999.0] * (TOKENS - len(tokens)))
        writer.add_bos_token_id(2)
        writer.add_eos_token_id(1)
        writer.add_unk_token_id(3)
        writer.add_add_space_prefix(False)
        writer.add_chat_template(
            "{{ bos_token }}{% for m in messages %}{{ m['content'] }}{% endfor %}")
    tokens += [f"<unused{i}>" for i in range(TOKENS - len(tokens))]
    types += [5] * (TOKENS - len(types))
    writer.add_token_list(tokens)
    writer.add_token_types(types)


class Model:
    """Writes a GGUF file and collects the weights under transformers' names."""

    def __init__(self, architecture, config):
        self.random = np.random.default_rng(2)
        self.architecture, self.config = architecture, config
        self.head_size = config.head_dim
        self.writer = gguf.GGUFWriter(os.path.join(FOLDER, architecture + ".gguf"), architecture)
        self.state = {}

    def matrix(self, name, theirs, rows, columns, type_, heads=0):
        stored, values = encode(self.random, type_, rows, columns, 1.5 / columns**0.5)
        add(self.writer, name, stored, type_)
        if heads:
            # The file has pairs of rotated rows as neighbors (convert_hf_to_gguf.py, permute).
            values = values.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2)
        self.state[theirs] = torch.from_numpy(values.reshape(rows, columns).copy())

    def vector(self, name, theirs, size, offset=0.0):
        values = self.random.uniform(0.5, 1.5, size).astype(np.float32)
        add(self.writer, name, values, T.F32)
        self.state[theirs] = torch.from_numpy(values - np.float32(offset))

    def write(self, types):
        c, w, a = self.config, self.writer, self.architecture
        gemma = a == "gemma3"
        offset = 1.0 if gemma else 0.0  # gemma multiplies by 1 + weight
        w.add_context_length(64)
        w.add_embedding_length(c.hidden_size)
        w.add_block_count(c.num_hidden_layers)
        w.add_feed_forward_length(c.intermediate_size)
        w.add_head_count(c.num_attention_heads)
        w.add_head_count_kv(c.num_key_value_heads)
        w.add_layer_norm_rms_eps(c.rms_norm_eps)
        w.add_key_length(c.head_dim)
        w.add_value_length(c.head_dim)
        w.add_rope_freq_base(self.rope_base)
        if gemma:
            w.add_sliding_window(c.sliding_window)
        add_tokenizer(w, a)
        next_type = iter(types * 99)
        self.matrix("token_embd.weight", "model.embed_tokens.weight", TOKENS, c.hidden_size, next(next_type))
        if not c.tie_word_embeddings:
            self.matrix("output.weight", "lm_head.weight", TOKENS, c.hidden_size, next(next_type))
        self.vector("output_norm.weight", "model.norm.weight", c.hidden_size, offset)
        q, kv = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
        for i in range(c.num_hidden_layers):
            ours, theirs = f"blk.{i}.", f"model.layers.{i}."
            permuted = a == "llama"

            def matrix(name, of, rows, columns, heads=0):
                type_ = next(next_type)
                while columns % gguf.GGML_QUANT_SIZES[type_][0]:
                    type_ = next(next_type)
                self.matrix(ours + name + ".weight", theirs + of + ".weight", rows, columns, type_, heads)

            def vector(name, of, size):
                self.vector(ours + name + ".weight", theirs + of + ".weight", size, offset)

            vector("attn_norm", "input_layernorm", c.hidden_size)
            matrix("attn_q", "self_attn.q_proj", q, c.hidden_size, permuted * c.num_attention_heads)
            matrix("attn_k", "self_attn.k_proj", kv, c.hidden_size, permuted * c.num_key_value_heads)
            matrix("attn_v", "self_attn.v_proj", kv, c.hidden_size)
            matrix("attn_output", "self_attn.o_proj", c.hidden_size, q)
            if a != "llama":
                vector("attn_q_norm", "self_attn.q_norm", c.head_dim)
                vector("attn_k_norm", "self_attn.k_norm", c.head_dim)
            if gemma:
                vector("post_attention_norm", "post_attention_layernorm", c.hidden_size)
                vector("ffn_norm", "pre_feedforward_layernorm", c.hidden_size)
                vector("post_ffw_norm", "post_feedforward_layernorm", c.hidden_size)
            else:
                vector("ffn_norm", "post_attention_layernorm", c.hidden_size)
            matrix("ffn_gate", "mlp.gate_proj", c.intermediate_size, c.hidden_size)
            matrix("ffn_up", "mlp.up_proj", c.intermediate_size, c.hidden_size)
            matrix("ffn_down", "mlp.down_proj", c.hidden_size, c.intermediate_size)
        self.extra()
        write(w)

    def extra(self):
        pass

    def golden(self, model):
        model = model.to(torch.float32).eval()
        missing = model.load_state_dict(self.state, strict=False).missing_keys
        assert set(missing) <= {"lm_head.weight"}, missing
        model.tie_weights()
        tokens = self.random.integers(4, TOKENS, 14).tolist()
        with torch.no_grad():
            logits = model(torch.tensor([tokens])).logits[0].numpy()
        # Of the prompt's last token, and of each of the tokens after it.
        prompt = 8
        rows = [[float(f"{x:.7g}") for x in row] for row in logits[prompt - 1 :]]
        # The likeliest tokens after the prompt, one after the other.
        greedy, margin = tokens[:prompt], 1e9
        for _ in range(8):
            with torch.no_grad():
                last = model(torch.tensor([greedy])).logits[0, -1]
            best = last.topk(2).values
            margin = min(margin, float(best[0] - best[1]))
            greedy.append(int(last.argmax()))
        assert margin > 1e-3, margin
        golden = {"prompt": prompt, "tokens": tokens, "logits": rows, "greedy": greedy[prompt:]}
        with open(os.path.join(FOLDER, self.architecture + ".json"), "w") as file:
            json.dump(golden, file)
            file.write("\n")


class Llama(Model):
    def extra(self):
        # The factors of Llama 3's scaled frequencies.
        model = transformers.LlamaForCausalLM(self.config)
        half = self.head_size // 2
        plain = 1 / self.rope_base ** (np.arange(half) / half)
        factors = plain / model.model.rotary_emb.inv_freq.numpy()
        assert factors.max() > 1.5
        add(self.writer, "rope_freqs.weight", factors.astype(np.float32), T.F32)


def write_models():
    common = dict(vocab_size=TOKENS, max_position_embeddings=64, attn_implementation="eager")
    config = transformers.LlamaConfig(
        hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, rms_norm_eps=1e-5, tie_word_embeddings=False,
        rope_parameters=dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0,
                             high_freq_factor=4.0, original_max_position_embeddings=32), **common)
    model = Llama("llama", config)
    model.rope_base = 10000.0
    model.write([T.Q8_0, T.F16, T.Q4_0, T.Q5_0, T.F32, T.Q4_1, T.BF16, T.Q5_1])
    model.golden(transformers.LlamaForCausalLM(config))

    config = transformers.Qwen3Config(
        hidden_size=256, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=32, rms_norm_eps=1e-6, tie_word_embeddings=True,
        rope_parameters=dict(rope_type="default", rope_theta=1000000.0), **common)
    model = Model("qwen3", config)
    model.rope_base = 1000000.0
    model.write([T.Q6_K, T.Q4_K, T.Q5_K, T.Q8_0])
    model.golden(transformers.Qwen3ForCausalLM(config))

    config = transformers.Gemma3TextConfig(
        hidden_size=64, intermediate_size=64, num_hidden_layers=7, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, rms_norm_eps=1e-6, query_pre_attn_scalar=16,
        sliding_window=4, layer_types=["sliding_attention"] * 5 + ["full_attention", "sliding_attention"],
        rope_parameters=dict(
            full_attention=dict(rope_type="default", rope_theta=1000000.0),
            sliding_attention=dict(rope_type="default", rope_theta=10000.0)),
        tie_word_embeddings=True, **common)
    model = Model("gemma3", config)
    model.rope_base = 1000000.0
    model.write([T.Q4_0, T.Q8_0])
    model.golden(transformers.Gemma3ForCausalLM(config))


if __name__ == "__main__":
    os.makedirs(FOLDER, exist_ok=True)
    write_types()
    write_models()
