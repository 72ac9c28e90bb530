#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "exir/gguf/gguf_testing.h"
#include "exir/gguf/tensor_type.h"
#include "fuzz/corpus/seeds.h"
#include "runtime/core/str_cat.h"

namespace belay::fuzz {
namespace {

using exir::GgufBytes;

// Precondition: there is a type of this name.
const exir::TensorTypeRow& RowOf(std::string_view type) {
  return *std::find_if(std::begin(exir::kTensorTypes), std::end(exir::kTensorTypes),
                       [&](const exir::TensorTypeRow& row) { return row.name == type; });
}

// A model of one layer and three tokens, whose matrices have this type.
class SmallModel {
 public:
  SmallModel(std::string_view architecture, std::string_view type) : type_(RowOf(type)) {
    const auto width = static_cast<uint32_t>(type_.elements > 4 ? type_.elements : 4);
    const int64_t w = width, half = w / 2;
    bytes.Text("general.architecture", architecture);
    for (const auto& [name, value] :
         std::vector<std::pair<std::string, uint32_t>>{{"block_count", 1},
                                                       {"embedding_length", width},
                                                       {"feed_forward_length", width},
                                                       {"attention.head_count", 2},
                                                       {"attention.head_count_kv", 1},
                                                       {"context_length", 8},
                                                       {"attention.sliding_window", 4}}) {
      bytes.Int(absl::StrCat(architecture, ".", name), value);
    }
    bytes.Float(absl::StrCat(architecture, ".attention.layer_norm_rms_epsilon"), 1e-5f);
    Matrix("token_embd", 3, w);
    Vector("output_norm", w);
    Vector("blk.0.attn_norm", w);
    Matrix("blk.0.attn_q", w, w);
    Matrix("blk.0.attn_k", half, w);
    Matrix("blk.0.attn_v", half, w);
    Matrix("blk.0.attn_output", w, w);
    Vector("blk.0.ffn_norm", w);
    for (std::string_view name : {"blk.0.ffn_gate", "blk.0.ffn_up", "blk.0.ffn_down"}) {
      Matrix(name, w, w);
    }
    if (architecture == "llama") return;
    Vector("blk.0.attn_q_norm", half);
    Vector("blk.0.attn_k_norm", half);
    if (architecture != "gemma3") return;
    Vector("blk.0.post_attention_norm", w);
    Vector("blk.0.post_ffw_norm", w);
  }

  GgufBytes bytes;

 private:
  void Matrix(std::string_view name, int64_t rows, int64_t columns) {
    const int64_t size = rows * (columns / type_.elements) * type_.bytes;
    bytes.Tensor(absl::StrCat(name, ".weight"), {rows, columns}, type_.id,
                 std::string(static_cast<size_t>(size), '\x11'));
  }
  void Vector(std::string_view name, int64_t size) {
    bytes.Tensor(absl::StrCat(name, ".weight"), {size}, 0,
                 std::string(static_cast<size_t>(4 * size), '\x3f'));
  }

  const exir::TensorTypeRow& type_;
};

}  // namespace

void AddGgufSeeds(Seeds& seeds) {
  SmallModel llama("llama", "F32");
  llama.bytes.Text("tokenizer.ggml.model", "llama")
      .Strings("tokenizer.ggml.tokens", {"<s>", "<0x0A>", "a", "\u2581", "\u2581a"})
      .Floats("tokenizer.ggml.scores", {0, 0, -1, -2, -3})
      .Ints("tokenizer.ggml.token_type", {3, 6, 1, 1, 1})
      .Int("tokenizer.ggml.bos_token_id", 0)
      .Bool("tokenizer.ggml.add_space_prefix", false)
      .Text("tokenizer.chat_template", "{{ bos_token }}{{ messages[0]['content'] }}");
  seeds.push_back({"gguf", "llama", llama.bytes.Build()});
  SmallModel qwen("qwen3", "Q4_0");
  qwen.bytes.Text("tokenizer.ggml.model", "gpt2")
      .Text("tokenizer.ggml.pre", "qwen2")
      .Strings("tokenizer.ggml.tokens", {"a", "b", "ab"})
      .Strings("tokenizer.ggml.merges", {"a b"})
      .Int("tokenizer.ggml.eos_token_id", 2)
      .Bool("tokenizer.ggml.add_eos_token", true);
  seeds.push_back({"gguf", "qwen3", qwen.bytes.Build()});
  seeds.push_back({"gguf", "gemma3", SmallModel("gemma3", "Q5_1").bytes.Build()});
  seeds.push_back({"gguf", "bf16", SmallModel("llama", "BF16").bytes.Build()});
  // Blocks of 256 elements. All tensors but one are missing, to keep the files small.
  for (std::string_view type : {"Q4_K", "Q6_K"}) {
    const exir::TensorTypeRow& row = RowOf(type);
    GgufBytes bytes;
    bytes.Text("general.architecture", "llama")
        .Int("llama.block_count", 1)
        .Int("llama.embedding_length", 256)
        .Int("llama.feed_forward_length", 1)
        .Int("llama.attention.head_count", 1)
        .Int("llama.context_length", 1)
        .Float("llama.attention.layer_norm_rms_epsilon", 1)
        .Tensor("token_embd.weight", {1, 256}, row.id,
                std::string(static_cast<size_t>(row.bytes), '\x22'));
    seeds.push_back({"gguf", std::string(type), bytes.Build()});
  }
}

}  // namespace belay::fuzz
