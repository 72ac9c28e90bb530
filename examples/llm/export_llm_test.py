"""Exports small random models of each family, and compares greedy tokens with those of transformers.

export_llm_test.py FOLDER_OF_EXPORT_LLM
"""

import importlib.util
import os
import sys
import tempfile

LENGTH = 96
PROMPT = [5, 9, 17, 3, 250, 77]
COMMON = {
    "vocab_size": 256, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": LENGTH,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
WINDOWS = {"sliding_window": 32, "layer_types": ["sliding_attention", "full_attention"] * 2}
SHORT_CONVOLUTIONS = {"layer_types": ["conv", "full_attention"] * 2}
FAMILIES = {
    "llama": {},
    "qwen3": {"head_dim": 16},
    "gemma3_text": {"head_dim": 16, "query_pre_attn_scalar": 16, **WINDOWS},
    "phi3": {},
    "smollm3": {},
    "lfm2": SHORT_CONVOLUTIONS,
    "lfm2_moe": {**SHORT_CONVOLUTIONS, **EXPERTS},
    "qwen3_moe": {"head_dim": 16, **EXPERTS},
    "mixtral": {"num_local_experts": 4},
    "gpt_oss": {"head_dim": 16, "num_local_experts": 4, **WINDOWS},
}


def main():
    for package in ("torch", "transformers"):
        if importlib.util.find_spec(package) is None:
            print(f"skipped: {package} is not installed")
            return
    import belay
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    sys.path.insert(0, sys.argv[1])
    from export_llm import export_llm

    path = os.path.join(tempfile.mkdtemp(), "llm.pt2")
    for family, options in FAMILIES.items():
        torch.manual_seed(1)
        config = AutoConfig.for_model(family, **{**COMMON, **options})
        model = AutoModelForCausalLM.from_config(config).eval()
        count = LENGTH - len(PROMPT)
        with torch.no_grad():
            expected = model.generate(
                torch.tensor([PROMPT]), max_new_tokens=count, do_sample=False, eos_token_id=None)
        torch.export.save(export_llm(model, LENGTH), path)
        program = belay.lower(
            path, write_state_in_place=True, constant_methods={"get_max_seq_len": LENGTH})
        session = belay.TextModel(program).session()
        session.append(PROMPT)
        tokens = [token.id for token in session.generate(count)]
        assert tokens == expected[0, len(PROMPT):].tolist(), (family, tokens, expected)
        print(family, len(tokens), "tokens are equal")


if __name__ == "__main__":
    main()
