#include "exir/gguf/decoder_program.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "exir/builder/op_builder.h"
#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/standard_decompositions.h"
#include "exir/gguf/tensor_constants.h"
#include "exir/ir/graph_editor.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/printable.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
constexpr std::string_view kHead = "output.weight", kRopeFactors = "rope_freqs.weight";

// A matrix or vector among the inputs of the program.
struct Weight {
  Argument elements, scales, zeros;  // the last two None for floats
  int64_t group = 0;
};

// Constants of the file, which the methods share. Read once: float and integer elements of a model
// are most of the memory of an import.
using ConstantCache = absl::flat_hash_map<std::string, TensorConstants>;

// Adds the constants of tensors as inputs of the program.
class Weights {
 public:
  Weights(const GgufFile& file, ConstantCache& constants, ExportedProgram& program,
          GraphEditor& editor)
      : file_(file), constants_(constants), program_(program), editor_(editor) {}

  // Adds a tensor of these sizes, or returns the weight of an earlier call.
  absl::StatusOr<Weight> Add(const std::string& name, const std::vector<int64_t>& sizes,
                             RowOrder order = SameRow) {
    if (const auto it = weights_.find(name); it != weights_.end()) return it->second;
    const GgufTensor* tensor = file_.FindTensor(name);
    if (tensor == nullptr || tensor->sizes != sizes) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor '", name, "': expected [", absl::StrJoin(sizes, ", "), "], got ",
                       tensor == nullptr ? "none" : tensor->SizesText()));
    }
    auto read = constants_.find(name);
    if (read == constants_.end()) {
      ABSL_ASSIGN_OR_RETURN(TensorConstants constants, ReadTensorConstants(file_, *tensor, order));
      read = constants_.emplace(name, std::move(constants)).first;
    }
    const TensorConstants& constants = read->second;
    Weight weight;
    weight.group = constants.group;
    weight.elements = AddInput(name, InputKind::kParameter, constants.elements);
    const auto add = [&](std::string_view suffix, const std::optional<ConstantTensor>& of) {
      if (!of.has_value()) return Argument();
      return AddInput(absl::StrCat(name, suffix), InputKind::kParameter, *of);
    };
    weight.scales = add("_scales", constants.scales);
    weight.zeros = add("_zeros", constants.zeros);
    weights_.emplace(name, weight);
    return weight;
  }

  // Reads a vector of floats, which does not become an input.
  absl::StatusOr<std::vector<float>> ReadVector(const std::string& name, int64_t size) {
    const GgufTensor* tensor = file_.FindTensor(name);
    if (tensor == nullptr || tensor->sizes != std::vector<int64_t>{size} ||
        tensor->type->type != TensorType::kF32) {
      return absl::InvalidArgumentError(absl::StrCat(
          "tensor '", name, "': expected F32 [", size, "], got ",
          tensor == nullptr ? "none" : absl::StrCat(tensor->type->name, " ", tensor->SizesText())));
    }
    std::vector<float> floats(static_cast<size_t>(size));
    std::memcpy(floats.data(), tensor->bytes.data(), tensor->bytes.size());
    weights_.emplace(name, Weight());
    return floats;
  }
  // Adds floats that the program computes with.
  absl::StatusOr<Argument> AddFloats(const std::string& name, const std::vector<float>& floats) {
    ABSL_ASSIGN_OR_RETURN(ConstantTensor tensor,
                          FloatConstant({static_cast<int64_t>(floats.size())}, floats));
    return AddInput(name, InputKind::kTensorConstant, std::move(tensor));
  }
  // Adds a buffer of zeros.
  absl::StatusOr<Argument> AddBuffer(const std::string& name, DType dtype, const Sizes& sizes) {
    CheckedInt bytes = static_cast<int64_t>(DTypeSize(dtype));
    for (int64_t size : sizes) bytes = bytes * size;
    if (!bytes.ok()) {
      return absl::ResourceExhaustedError(absl::StrCat("buffer '", name, "' is too large"));
    }
    ABSL_ASSIGN_OR_RETURN(Storage zeros, Storage::Zeros(static_cast<uint64_t>(bytes.value())));
    ABSL_ASSIGN_OR_RETURN(ConstantTensor tensor,
                          ConstantTensor::Contiguous(dtype, sizes, std::move(zeros)));
    return AddInput(name, InputKind::kBuffer, std::move(tensor));
  }

  // kUnimplemented, naming a tensor that was not added.
  absl::Status CheckAllUsed(std::string_view architecture) const {
    for (const GgufTensor& tensor : file_.tensors()) {
      if (weights_.contains(std::string(tensor.name))) continue;
      return absl::UnimplementedError(absl::StrCat(
          "tensor '", tensor.name, "': not supported in architecture '", architecture, "'"));
    }
    return absl::OkStatus();
  }

 private:
  Argument AddInput(const std::string& name, InputKind kind, ConstantTensor tensor) {
    std::vector<SymInt> sizes(tensor.sizes().begin(), tensor.sizes().end());
    const ValueId value =
        editor_.AddInput(absl::StrReplaceAll(name, {{".", "_"}}),
                         TensorMeta::Contiguous(tensor.dtype(), std::move(sizes)));
    program_.signature.inputs.push_back({.kind = kind, .target = name});
    (kind == InputKind::kTensorConstant ? program_.constants : program_.state_dict)
        .emplace(name, std::move(tensor));
    return value;
  }

  const GgufFile& file_;
  ConstantCache& constants_;
  ExportedProgram& program_;
  GraphEditor& editor_;
  absl::flat_hash_map<std::string, Weight> weights_;
};

struct Layer {
  Weight attention_norm, q, k, v, out, mlp_norm, gate, up, down;
  Weight q_norm, k_norm, post_attention_norm, post_mlp_norm;  // if the architecture has them
  Argument keys, values;                                      // buffers
};

struct MethodShape {
  int64_t tokens = 1;    // at most, of one sequence
  int64_t sessions = 0;  // above 0: one token of each of this many sequences
  bool has_all_logits = false;
};

// cosines and sines of the positions: [n, head_size / 2]; of sessions, [sessions, 1, 1, head_size /
// 2].
struct Angles {
  Argument cosines, sines;
};

class DecoderBuilder {
 public:
  DecoderBuilder(const GgufFile& file, const DecoderParameters& p, const DecoderOptions& options,
                 const MethodShape& shape, ConstantCache& constants, const OpRegistry& ops)
      : file_(file),
        p_(p),
        context_length_(options.context_length),
        cache_dtype_(options.cache_dtype),
        shape_(shape),
        constants_(constants),
        program_(&ops) {
    program_.graphs.push_back(Graph());
    if (!batched()) program_.ranges[kTokens] = {1, shape.tokens};
  }

  absl::StatusOr<ExportedProgram> Build(std::string_view name) {
    GraphEditor editor(program_.top());
    editor.SetName(std::string(name));
    ABSL_RETURN_IF_ERROR(AddInputs(editor));
    {
      OpBuilder builder(program_, editor, &StandardDecompositions());
      builder.MoveToEnd();
      Argument logits = Forward(builder);
      ABSL_RETURN_IF_ERROR(builder.status());
      outputs_.push_back(std::move(logits));
      program_.signature.outputs.emplace_back();  // a user output
    }
    editor.SetOutputs(std::move(outputs_));
    return std::move(program_);
  }

 private:
  static constexpr char kTokens[] = "s0";  // the number of tokens of a call

  bool batched() const { return shape_.sessions > 0; }
  int64_t sequences() const { return batched() ? shape_.sessions : 1; }
  std::string BufferName(int64_t layer, std::string_view part) const {
    return absl::StrCat(batched() ? "batch.cache." : "cache.", layer, ".", part);
  }

  absl::Status AddInputs(GraphEditor& editor) {
    Weights weights(file_, constants_, program_, editor);
    const GgufTensor* table = file_.FindTensor(kTokenTable);
    if (table == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "tensor '", kTokenTable, "': expected [vocabulary, ", p_.width, "], got none"));
    }
    const int64_t vocabulary = table->sizes[0];
    const auto matrix = [&](std::string_view name, int64_t rows, int64_t columns) {
      return weights.Add(std::string(name), {rows, columns});
    };
    ABSL_ASSIGN_OR_RETURN(table_, matrix(kTokenTable, vocabulary, p_.width));
    head_ = table_;
    if (file_.FindTensor(kHead) != nullptr) {
      ABSL_ASSIGN_OR_RETURN(head_, matrix(kHead, vocabulary, p_.width));
    }
    ABSL_ASSIGN_OR_RETURN(norm_, weights.Add("output_norm.weight", {p_.width}));
    if (p_.layers > static_cast<int64_t>(file_.tensors().size())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "expected tensors of ", p_.layers, " layers, got ", file_.tensors().size(), " tensors"));
    }
    for (int64_t i = 0; i < p_.layers; ++i) ABSL_RETURN_IF_ERROR(AddLayer(i, weights));
    ABSL_RETURN_IF_ERROR(AddFrequencies(weights));
    ABSL_RETURN_IF_ERROR(weights.CheckAllUsed(p_.architecture));
    const SymExpr n = batched() ? SymExpr(1) : SymExpr::Symbol(kTokens);
    tokens_ = editor.AddInput("tokens", TensorMeta::Contiguous(DType::kInt64, {sequences(), n}));
    positions_ = editor.AddInput(
        "cache_position",
        TensorMeta::Contiguous(DType::kInt64, {batched() ? SymExpr(sequences()) : n}));
    program_.signature.inputs.resize(program_.signature.inputs.size() + 2);
    return absl::OkStatus();
  }

  absl::Status AddLayer(int64_t index, Weights& weights) {
    Layer layer;
    const int64_t q_size = p_.heads * p_.head_size, kv_size = p_.kv_heads * p_.head_size;
    const auto name = [&](std::string_view part) {
      return absl::StrCat("blk.", index, ".", part, ".weight");
    };
    const auto add = [&](Weight& to, std::string_view part, std::vector<int64_t> sizes,
                         RowOrder order = SameRow) -> absl::Status {
      ABSL_ASSIGN_OR_RETURN(to, weights.Add(name(part), sizes, order));
      return absl::OkStatus();
    };
    // The file has the rows of a head in pairs (i, i + head_size / 2).
    const int64_t half = p_.head_size / 2;
    const auto rotated = [&](int64_t row) {
      if (!p_.permuted_rows) return row;
      const int64_t i = row % p_.head_size;
      return row - i + i % half * 2 + i / half;
    };
    ABSL_RETURN_IF_ERROR(add(layer.attention_norm, "attn_norm", {p_.width}));
    ABSL_RETURN_IF_ERROR(add(layer.q, "attn_q", {q_size, p_.width}, rotated));
    ABSL_RETURN_IF_ERROR(add(layer.k, "attn_k", {kv_size, p_.width}, rotated));
    ABSL_RETURN_IF_ERROR(add(layer.v, "attn_v", {kv_size, p_.width}));
    ABSL_RETURN_IF_ERROR(add(layer.out, "attn_output", {p_.width, q_size}));
    ABSL_RETURN_IF_ERROR(add(layer.mlp_norm, "ffn_norm", {p_.width}));
    ABSL_RETURN_IF_ERROR(add(layer.gate, "ffn_gate", {p_.feed_forward, p_.width}));
    ABSL_RETURN_IF_ERROR(add(layer.up, "ffn_up", {p_.feed_forward, p_.width}));
    ABSL_RETURN_IF_ERROR(add(layer.down, "ffn_down", {p_.width, p_.feed_forward}));
    if (p_.has_head_norms) {
      ABSL_RETURN_IF_ERROR(add(layer.q_norm, "attn_q_norm", {p_.head_size}));
      ABSL_RETURN_IF_ERROR(add(layer.k_norm, "attn_k_norm", {p_.head_size}));
    }
    if (p_.has_post_norms) {
      ABSL_RETURN_IF_ERROR(add(layer.post_attention_norm, "post_attention_norm", {p_.width}));
      ABSL_RETURN_IF_ERROR(add(layer.post_mlp_norm, "post_ffw_norm", {p_.width}));
    }
    const Sizes cache = {sequences(), p_.kv_heads, context_length_, p_.head_size};
    const auto add_buffer = [&](std::string_view part) {
      return weights.AddBuffer(BufferName(index, part), cache_dtype_, cache);
    };
    ABSL_ASSIGN_OR_RETURN(layer.keys, add_buffer("keys"));
    ABSL_ASSIGN_OR_RETURN(layer.values, add_buffer("values"));
    layers_.push_back(std::move(layer));
    return absl::OkStatus();
  }

  // Adds the angles per position.
  absl::Status AddFrequencies(Weights& weights) {
    const int64_t half = p_.head_size / 2;
    std::vector<float> divisors(static_cast<size_t>(half), 1.0f);
    if (file_.FindTensor(kRopeFactors) != nullptr) {
      ABSL_ASSIGN_OR_RETURN(divisors, weights.ReadVector(std::string(kRopeFactors), half));
    }
    const auto add = [&](std::string_view name, double base, double scale,
                         Argument& to) -> absl::Status {
      std::vector<float> frequencies;
      for (int64_t i = 0; i < half; ++i) {
        const double power = static_cast<double>(2 * i) / static_cast<double>(p_.head_size);
        frequencies.push_back(static_cast<float>(scale / std::pow(base, power)) /
                              divisors[static_cast<size_t>(i)]);
      }
      ABSL_ASSIGN_OR_RETURN(to, weights.AddFloats(std::string(name), frequencies));
      return absl::OkStatus();
    };
    ABSL_RETURN_IF_ERROR(add("rope_frequencies", p_.rope_base, p_.rope_scale, frequencies_));
    if (p_.window == 0) return absl::OkStatus();
    return add("window_rope_frequencies", p_.window_rope_base, 1, window_frequencies_);
  }

  // --- Calls ---

  // The matrix in float32.
  static Argument Dense(OpBuilder& b, const Weight& w) {
    if (w.group == 0) return Cast(b, w.elements, DType::kFloat32);
    return b.Call(
        "quantized_decomposed.dequantize_per_channel_group.default",
        {w.elements, w.scales, w.zeros, -128, 127, DType::kInt8, w.group, DType::kFloat32});
  }
  static Argument Linear(OpBuilder& b, const Argument& x, const Weight& w) {
    return b.Call("aten.linear.default", {x, Dense(b, w)});
  }
  // x * rsqrt(mean(x^2) + eps) * w
  Argument Norm(OpBuilder& b, const Argument& x, const Weight& w) const {
    const Argument mean = Mean(b, Pow(b, x, 2), {-1}, /*keep=*/true);
    const Argument inverse = Unary(b, "rsqrt", Add(b, mean, p_.eps));
    return Mul(b, Mul(b, x, inverse), Dense(b, w));
  }

  Argument Embed(OpBuilder& b) const {
    Argument x;
    if (table_.group != 0) {
      x = b.Call("quantized_decomposed.embedding_byte.default",
                 {table_.elements, table_.scales, table_.zeros, -128, 127, tokens_});
    } else {
      x = Cast(b, b.Call("aten.embedding.default", {table_.elements, tokens_}), DType::kFloat32);
    }
    return p_.embedding_scale == 1 ? x : Mul(b, x, p_.embedding_scale);
  }

  // The positions as [n, 1]; of sessions, [sessions, 1, 1, 1].
  Argument PositionColumn(OpBuilder& b) const {
    if (!batched()) return Unsqueeze(b, positions_, 1);
    return b.Call("aten.view.default", {positions_, {sequences(), 1, 1, 1}});
  }

  Angles AnglesOf(OpBuilder& b, const Argument& frequencies) const {
    const Argument positions = Cast(b, PositionColumn(b), DType::kFloat32);
    const Argument angles = Mul(b, positions, Unsqueeze(b, frequencies, 0));
    return {Unary(b, "cos", angles), Unary(b, "sin", angles)};
  }
  // Rotates halves (x, y) of rows: (x cos - y sin, x sin + y cos).
  Argument Rotate(OpBuilder& b, const Argument& rows, const Angles& angles) const {
    const Argument x = Slice(b, rows, -1, 0, p_.head_size / 2);
    const Argument y = Slice(b, rows, -1, p_.head_size / 2, kEnd);
    return Cat(b,
               {Sub(b, Mul(b, x, angles.cosines), Mul(b, y, angles.sines)),
                Add(b, Mul(b, x, angles.sines), Mul(b, y, angles.cosines))},
               -1);
  }

  // Whether token i attends to position j, [1, 1, n, context_length]; of sessions, [sessions, 1, 1,
  // context_length]. window 0: all positions up to its own.
  Argument Visible(OpBuilder& b, int64_t window) const {
    const Argument rows = PositionColumn(b);
    const Argument columns = Unsqueeze(b, Arange(b, context_length_), 0);
    Argument visible = Binary(b, "le", columns, rows);
    if (window != 0) {
      visible = b.Call("aten.logical_and.default",
                       {visible, Binary(b, "gt", columns, Sub(b, rows, window))});
    }
    return batched() ? visible : Unsqueeze(b, Unsqueeze(b, visible, 0), 0);
  }

  // [sequences, n, heads * head_size]  ->  [sequences, heads, n, head_size]
  Argument SplitHeads(OpBuilder& b, const Argument& x, int64_t heads) const {
    return Transpose(
        b, b.Call("aten.view.default", {x, {sequences(), b.size(x, 1), heads, p_.head_size}}), 1,
        2);
  }
  // Writes the new rows of a buffer. Returns it in float32, with repeated heads.
  Argument UpdateCache(OpBuilder& b, const Argument& buffer, std::string_view name,
                       const Argument& floats) {
    const Argument rows = Cast(b, floats, cache_dtype_);
    // Of sessions, buffer[i, :, positions[i]] = rows[i, :, 0].
    const Argument updated =
        batched()
            ? b.Call(
                  "aten.index_put.default",
                  {buffer, {Arange(b, sequences()), Argument(), positions_}, Squeeze(b, rows, 2)})
            : b.Call("aten.index_copy.default", {buffer, 2, positions_, rows});
    program_.signature.outputs.push_back(
        {.kind = OutputKind::kBufferMutation, .target = std::string(name)});
    outputs_.push_back(updated);
    const Argument widened = Cast(b, updated, DType::kFloat32);
    const int64_t repeats = p_.heads / p_.kv_heads;
    if (repeats == 1) return widened;
    const Argument repeated =
        Expand(b, Unsqueeze(b, widened, 2),
               {sequences(), p_.kv_heads, repeats, context_length_, p_.head_size});
    return b.Call("aten.reshape.default",
                  {repeated, {sequences(), p_.heads, context_length_, p_.head_size}});
  }

  Argument Attend(OpBuilder& b, const Argument& x, int64_t index) {
    const Layer& layer = layers_[static_cast<size_t>(index)];
    const bool windowed = p_.HasWindow(index);
    const Angles& angles = windowed ? window_angles_ : angles_;
    Argument q = SplitHeads(b, Linear(b, x, layer.q), p_.heads);
    Argument k = SplitHeads(b, Linear(b, x, layer.k), p_.kv_heads);
    const Argument v = SplitHeads(b, Linear(b, x, layer.v), p_.kv_heads);
    if (p_.has_head_norms) {
      q = Norm(b, q, layer.q_norm);
      k = Norm(b, k, layer.k_norm);
    }
    q = Rotate(b, q, angles);
    k = Rotate(b, k, angles);
    const Argument keys = UpdateCache(b, layer.keys, BufferName(index, "keys"), k);
    const Argument values = UpdateCache(b, layer.values, BufferName(index, "values"), v);
    const Argument attended = b.Call("aten.scaled_dot_product_attention.default",
                                     {q, keys, values, windowed ? window_visible_ : visible_},
                                     {{"scale", p_.attention_scale}});
    const Argument joined = b.Call("aten.reshape.default",
                                   {Transpose(b, attended, 1, 2),
                                    {sequences(), b.size(attended, 2), p_.heads * p_.head_size}});
    return Linear(b, joined, layer.out);
  }

  Argument Mlp(OpBuilder& b, const Argument& x, const Layer& layer) const {
    Argument gate = Linear(b, x, layer.gate);
    gate = p_.has_gelu ? b.Call("aten.gelu.default", {gate}, {{"approximate", "tanh"}})
                       : Unary(b, "silu", gate);
    return Linear(b, Mul(b, gate, Linear(b, x, layer.up)), layer.down);
  }

  Argument Forward(OpBuilder& b) {
    Argument x = Embed(b);
    angles_ = AnglesOf(b, frequencies_);
    visible_ = Visible(b, 0);
    if (p_.window != 0) {
      window_angles_ = AnglesOf(b, window_frequencies_);
      window_visible_ = Visible(b, p_.window);
    }
    for (int64_t i = 0; i < p_.layers; ++i) {
      const Layer& layer = layers_[static_cast<size_t>(i)];
      Argument attended = Attend(b, Norm(b, x, layer.attention_norm), i);
      if (p_.has_post_norms) attended = Norm(b, attended, layer.post_attention_norm);
      x = Add(b, x, attended);
      Argument mixed = Mlp(b, Norm(b, x, layer.mlp_norm), layer);
      if (p_.has_post_norms) mixed = Norm(b, mixed, layer.post_mlp_norm);
      x = Add(b, x, mixed);
    }
    if (!shape_.has_all_logits) x = Slice(b, x, 1, -1, kEnd);
    return Linear(b, Norm(b, x, norm_), head_);
  }

  const GgufFile& file_;
  const DecoderParameters& p_;
  const int64_t context_length_;
  const DType cache_dtype_;
  const MethodShape shape_;
  ConstantCache& constants_;
  ExportedProgram program_;
  Weight table_, head_, norm_;
  std::vector<Layer> layers_;
  Argument tokens_, positions_, frequencies_, window_frequencies_;
  Angles angles_, window_angles_;
  Argument visible_, window_visible_;
  std::vector<Argument> outputs_;  // mutations, then the logits
};

}  // namespace

absl::StatusOr<DecoderMethods> BuildDecoder(const GgufFile& file,
                                            const DecoderParameters& parameters,
                                            const DecoderOptions& options, const OpRegistry& ops) {
  if (options.context_length < 1 || options.sessions < 0 || options.speculate < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected context_length >= 1, sessions >= 0 and speculate >= 0, got ",
                     options.context_length, ", ", options.sessions, " and ", options.speculate));
  }
  if (!kCacheTypes.contains(options.cache_dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cache_dtype: expected float32, float16 or bfloat16, got ",
                     DTypeName(options.cache_dtype)));
  }
  const int64_t context = options.context_length;
  std::vector<std::pair<std::string_view, MethodShape>> shapes = {{"forward", {.tokens = context}}};
  if (options.speculate > 0) {
    // Not speculate + 1, which may overflow.
    const int64_t tokens = options.speculate < context ? options.speculate + 1 : context;
    shapes.emplace_back("verify", MethodShape{.tokens = tokens, .has_all_logits = true});
  }
  if (options.sessions > 0) {
    shapes.emplace_back("decode_batch",
                        MethodShape{.sessions = options.sessions, .has_all_logits = true});
  }
  DecoderMethods methods;
  ConstantCache constants;
  for (const auto& [name, shape] : shapes) {
    absl::StatusOr<ExportedProgram> program =
        DecoderBuilder(file, parameters, options, shape, constants, ops).Build(name);
    if (!program.ok()) return Printable(program.status());
    methods.emplace_back(std::string(name), *std::move(program));
  }
  return methods;
}

}  // namespace belay::exir
