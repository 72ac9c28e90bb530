"""Exports a causal language model of transformers as one program with a key/value cache.

    export_llm.py FOLDER -o llm.pt2 [--length 512] [--dtype float32] [--quantize int4]

FOLDER: as `from_pretrained` takes it. The program takes ids of tokens [1, n] and their positions
[n], updates the cache, and returns the logits of the last token [1, 1, words]. One program serves
prompts and single tokens.
"""

import argparse

import torch
from torch.export import Dim
from transformers import AutoModelForCausalLM
from transformers.cache_utils import LinearAttentionLayer, StaticCache, StaticLayer, StaticSlidingWindowLayer
from transformers.integrations.executorch import get_head_shapes


class ConvolutionState(LinearAttentionLayer):
    """The last inputs of a short convolution (LFM 2), as a buffer of fixed size.

    `conv_states` stays None, so the model takes the same path for one token and for many.
    """

    def __init__(self, channels, width, dtype):
        super().__init__()
        self.last = torch.zeros(1, channels, width, dtype=dtype)

    def update_conv_state(self, conv_states, state_idx=0, **kwargs):
        values = torch.cat([self.last, conv_states], dim=-1)
        self.last.copy_(values[..., values.shape[-1] - self.last.shape[-1]:])
        return values


class CachedModel(torch.nn.Module):
    """A model with its cache of `length` positions as buffers."""

    def __init__(self, model, length):
        super().__init__()
        self.model = model
        config = model.config.get_text_config()
        self.cache = StaticCache(config=config, max_cache_len=length)
        for i, layer in enumerate(self.cache.layers):
            # A cache of a window moves its rows, which has no static form: the mask limits attention.
            if isinstance(layer, StaticSlidingWindowLayer):
                self.cache.layers[i] = StaticLayer(length)
            if isinstance(layer, LinearAttentionLayer):
                self.cache.layers[i] = ConvolutionState(config.hidden_size, config.conv_L_cache, model.dtype)
        self.cache.early_initialization(1, *get_head_shapes(config), model.dtype, model.device)
        for i, layer in enumerate(self.cache.layers):
            if isinstance(layer, ConvolutionState):
                self.register_buffer(f"convolution_{i}", layer.last)
            else:
                self.register_buffer(f"key_cache_{i}", layer.keys)
                self.register_buffer(f"value_cache_{i}", layer.values)
                self.register_buffer(f"cumulative_length_{i}", layer.cumulative_length)

    def forward(self, input_ids, cache_position):
        for layer in self.cache.layers:
            if isinstance(layer, StaticLayer):
                layer.cumulative_length.copy_(cache_position[0])
        return self.model(
            input_ids=input_ids, past_key_values=self.cache, use_cache=True, logits_to_keep=1).logits


def quantize(model, recipe):
    """Quantizes linear layers with torchao: "int8", "int4" (groups of 32), or "8da4w"."""
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, IntxWeightOnlyConfig, quantize_
    from torchao.quantization.granularity import PerAxis, PerGroup

    # torchao does not quantize tied weights.
    head = model.get_output_embeddings()
    head.weight = torch.nn.Parameter(head.weight.detach().clone())
    model.config.tie_word_embeddings = False
    quantize_(model, {
        "int8": IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerAxis(0)),
        "int4": IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32)),
        "8da4w": Int8DynamicActivationIntxWeightConfig(
            weight_dtype=torch.int4, weight_granularity=PerGroup(32)),
    }[recipe])


def export_llm(model, length):
    """Returns the exported program of `model`; `length`: positions of the cache."""
    n = Dim("n", min=1, max=length - 1)
    with torch.no_grad():
        return torch.export.export(
            CachedModel(model.eval(), length), (torch.tensor([[2, 5, 7]]), torch.arange(3)),
            dynamic_shapes=({1: n}, {0: n}), strict=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="a folder or name of a model")
    parser.add_argument("-o", "--output", required=True, help="the archive (.pt2)")
    parser.add_argument("--length", type=int, default=512, help="positions of the cache (%(default)s)")
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16", "float16"])
    parser.add_argument("--quantize", choices=["int8", "int4", "8da4w"], help="needs torchao")
    options = parser.parse_args()

    model = AutoModelForCausalLM.from_pretrained(options.folder, dtype=getattr(torch, options.dtype))
    if options.quantize:
        quantize(model, options.quantize)
    torch.export.save(export_llm(model, options.length), options.output)
    print("now: belay lower", options.output, "--write-state-in-place",
          f"--constant-method get_max_seq_len={options.length}",
          f"--tokenizer {options.folder}/tokenizer.json -o llm.belay")


if __name__ == "__main__":
    main()
