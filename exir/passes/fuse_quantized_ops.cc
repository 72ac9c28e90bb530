#include "exir/passes/fuse_quantized_ops.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
#include "exir/passes/constant_input.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

// Between these scales, quantize(dequantize(q)) == q for every distance from the zero point: the
// multiplication neither overflows nor gives a subnormal.
constexpr double kLeastScale = 0x1p-100, kMostScale = 0x1p100;

struct Quantization {
  double scale = 1;
  int64_t zero_point = 0, low = 0, high = 0;
  DType dtype = DType::kInt8;
  bool operator==(const Quantization&) const = default;
};

std::optional<Quantization> QuantizationOf(const Node& node) {
  const auto* scale = node.argument("scale").get_if<double>();
  const auto* zero_point = node.argument("zero_point").get_if<int64_t>();
  const auto* low = node.argument("quant_min").get_if<int64_t>();
  const auto* high = node.argument("quant_max").get_if<int64_t>();
  const auto* dtype = node.argument("dtype").get_if<DType>();
  if (scale == nullptr || zero_point == nullptr || low == nullptr || high == nullptr ||
      dtype == nullptr) {
    return std::nullopt;
  }
  return Quantization{*scale, *zero_point, *low, *high, *dtype};
}

bool IsByte(DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUint8; }

// Returns whether the range covers all numbers of the dtype, and all numbers survive a round trip.
bool IsLossless(const Quantization& q) {
  if (!(q.scale >= kLeastScale && q.scale <= kMostScale)) return false;
  const int64_t least = q.dtype == DType::kInt8 ? -128 : 0;
  // float32 represents the difference from the zero point exactly.
  constexpr int64_t kMostZeroPoint = 1 << 15;
  return IsByte(q.dtype) && q.low <= least && q.high >= least + 255 &&
         q.zero_point >= -kMostZeroPoint && q.zero_point <= kMostZeroPoint;
}

bool IsMovement(const Node& node) { return node.target->has_trait(kMovesElements); }

class Fusion {
 public:
  Fusion(ExportedProgram& program, GraphId graph)
      : program_(program),
        id_(graph),
        editor_(program.graphs[graph]),
        graph_(editor_.graph()),
        quantize_(Aten("quantized_decomposed.quantize_per_tensor.default")),
        dequantize_(Aten("quantized_decomposed.dequantize_per_tensor.default")),
        dequantize_channels_(Aten("quantized_decomposed.dequantize_per_channel.default")),
        dequantize_groups_(Aten("quantized_decomposed.dequantize_per_channel_group.default")),
        add_(Aten("aten.add.Tensor")),
        relu_(Aten("aten.relu.default")),
        embedding_(Aten("aten.embedding.default")) {}

  bool Run() {
    bool changed = false;
    for (NodeId id : graph_.NodeList()) {
      const Node& node = graph_.node(id);
      if (node.target->aten() == quantize_) {
        changed |= FuseInto(id);
      } else if (node.target->aten() == embedding_) {
        changed |= FuseEmbedding(id);
      }
    }
    if (changed) editor_.EraseDeadNodes();
    return changed;
  }

 private:
  const OpOverload* Aten(std::string_view name) const { return program_.ops->Find(name); }
  // Finds the operator in the program's dialect.
  const OpOverload* Find(std::string_view name) const {
    const OpOverload* op = Aten(name);
    if (op == nullptr || program_.dialect != IrDialect::kEdge) return op;
    return program_.ops->ToEdge(op);
  }

  const TensorMeta* Tensor(const Argument& argument) const {
    const ValueId* value = argument.get_if<ValueId>();
    return value == nullptr ? nullptr : graph_.value(*value).tensor();
  }

  // Returns the node that computes the argument if it is a call of `op` with one result.
  const Node* Producer(const Argument& argument, const OpOverload* op) const {
    const ValueId* value = argument.get_if<ValueId>();
    if (value == nullptr) return nullptr;
    const NodeId producer = graph_.value(*value).producer;
    if (!producer.valid()) return nullptr;
    const Node& node = graph_.node(producer);
    return node.target->aten() == op ? &node : nullptr;
  }

  // Returns the dequantization to float32 that computes the argument.
  const Node* DequantizedBy(const Argument& argument) const {
    const Node* node = Producer(argument, dequantize_);
    if (node == nullptr || Tensor(argument)->dtype != DType::kFloat32) return nullptr;
    return QuantizationOf(*node).has_value() ? node : nullptr;
  }

  // Inserts a call before `before` and infers its result type.
  absl::StatusOr<ValueId> Insert(NodeId before, const OpOverload* target,
                                 std::vector<Argument> arguments) {
    ABSL_ASSIGN_OR_RETURN(const std::vector<MetaValue> results,
                          InferOutputs(graph_, target, arguments, nullptr));
    const Node& node = graph_.node(before);
    GraphEditor::NewNode call{.name = std::string(target->op()),
                              .target = target,
                              .arguments = std::move(arguments),
                              .argument_names = {},
                              .provenance = node.provenance,
                              .debug_handle = node.debug_handle,
                              .delegation_tag = {}};
    return editor_.InsertOp(before, std::move(call), ToValueType(results[0]));
  }

  // Fuses the producer of the input of `id` if `id` is a quantize node.
  bool FuseInto(NodeId id) {
    const Node& quantize = graph_.node(id);
    const std::optional<Quantization> to = QuantizationOf(quantize);
    const ValueId* input = quantize.value_argument("input");
    if (!to.has_value() || input == nullptr || !graph_.HasOneUse(*input)) return false;
    const NodeId producer = graph_.value(*input).producer;
    if (!producer.valid()) return false;
    if (IsMovement(graph_.node(producer))) return FuseMovement(id, producer, *to);
    const OpOverload* op = graph_.node(producer).target->aten();
    if (op == add_) return FuseAdd(id, producer, *to, /*relu=*/false);
    if (op == relu_) {
      const ValueId* sum = graph_.node(producer).value_argument("self");
      const Node* add = Producer(graph_.node(producer).argument("self"), add_);
      if (add == nullptr || !graph_.HasOneUse(*sum)) return false;
      return FuseAdd(id, graph_.value(*sum).producer, *to, /*relu=*/true);
    }
    return false;
  }

  // Fuses a chain of data movement nodes that ends in `last` and starts at a dequantize node.
  bool FuseMovement(NodeId id, NodeId last, const Quantization& to) {
    if (!IsLossless(to)) return false;
    const auto source = [&](const Argument& argument) -> const Argument* {
      const Node* node = DequantizedBy(argument);
      if (node == nullptr || QuantizationOf(*node) != to) return nullptr;
      const Argument& input = node->argument("input");
      const TensorMeta* numbers = Tensor(input);
      return numbers != nullptr && numbers->dtype == to.dtype ? &input : nullptr;
    };
    std::vector<NodeId> chain = {last};  // from last to first
    for (;;) {
      const ValueId* moved = graph_.node(chain.back()).operand().get_if<ValueId>();
      if (moved == nullptr || !graph_.HasOneUse(*moved)) break;
      const NodeId producer = graph_.value(*moved).producer;
      if (!producer.valid() || !IsMovement(graph_.node(producer))) break;
      chain.push_back(producer);
    }
    Argument operand = graph_.node(chain.back()).operand();
    if (auto* list = operand.get_if<Argument::List>()) {
      for (Argument& element : *list) {
        const Argument* numbers = source(element);
        if (numbers == nullptr) return false;
        element = Argument(*numbers);
      }
    } else {
      const Argument* numbers = source(operand);
      if (numbers == nullptr) return false;
      operand = Argument(*numbers);
    }
    std::vector<ValueId> moved;
    for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
      std::vector<Argument> arguments = graph_.node(*it).arguments;
      arguments.front() = moved.empty() ? operand : Argument(moved.back());
      absl::StatusOr<ValueId> value = Insert(id, graph_.node(*it).target, std::move(arguments));
      if (!value.ok()) {
        Erase(moved);
        return false;
      }
      moved.push_back(*value);
      const ValueId like = graph_.ResultOf(*it);
      if (!CopySizes(*value, like)) {
        Erase(moved);
        return false;
      }
    }
    return ReplaceResult(id, moved);
  }

  bool FuseAdd(NodeId id, NodeId add, const Quantization& to, bool relu) {
    const Node& node = graph_.node(add);
    const Node* a = DequantizedBy(node.argument("self"));
    const Node* b = DequantizedBy(node.argument("other"));
    const OpOverload* target = Find("quantized_decomposed.add.default");
    const Argument& alpha = node.argument("alpha");
    const bool plain = alpha == Argument(1) || alpha == Argument(1.0);
    if (a == nullptr || b == nullptr || target == nullptr || !plain) return false;
    const Quantization qa = *QuantizationOf(*a), qb = *QuantizationOf(*b);
    const Argument &x = a->argument("input"), &y = b->argument("input");
    const TensorMeta *ta = Tensor(x), *tb = Tensor(y);
    if (!IsByte(to.dtype)) return false;
    if (ta == nullptr || tb == nullptr || ta->dtype != to.dtype || tb->dtype != to.dtype ||
        ta->sizes != tb->sizes) {
      return false;
    }
    // relu's 0 quantizes to the zero point, clamped to the range.
    const int64_t low = relu ? std::clamp(to.zero_point, to.low, to.high) : to.low;
    absl::StatusOr<ValueId> sum =
        Insert(id, target,
               ArgumentsByName(*target->schema(), {{"a", x},
                                                   {"a_scale", qa.scale},
                                                   {"a_zero_point", qa.zero_point},
                                                   {"a_quant_min", qa.low},
                                                   {"a_quant_max", qa.high},
                                                   {"b", y},
                                                   {"b_scale", qb.scale},
                                                   {"b_zero_point", qb.zero_point},
                                                   {"b_quant_min", qb.low},
                                                   {"b_quant_max", qb.high},
                                                   {"out_scale", to.scale},
                                                   {"out_zero_point", to.zero_point},
                                                   {"out_quant_min", low},
                                                   {"out_quant_max", to.high}}));
    if (!sum.ok()) return false;
    return ReplaceResult(id, {*sum});
  }

  // Gives a new value the sizes of the value that it replaces, which use the program's own symbols.
  // Returns false if the memory layout differs.
  bool CopySizes(ValueId value, ValueId like) {
    TensorMeta type = graph_.MetaOf(value);
    const TensorMeta& declared = graph_.MetaOf(like);
    if (type.strides != declared.strides) return false;
    type.sizes = declared.sizes;
    editor_.SetType(value, std::move(type));
    return true;
  }

  void Erase(const std::vector<ValueId>& values) {
    for (auto it = values.rbegin(); it != values.rend(); ++it) {
      editor_.EraseNode(graph_.value(*it).producer);
    }
  }

  // Replaces the result of `id` by the last of the new values, if the types match.
  bool ReplaceResult(NodeId id, const std::vector<ValueId>& values) {
    const ValueId old = graph_.ResultOf(id), value = values.back();
    if (graph_.value(value).tensor()->dtype != graph_.value(old).tensor()->dtype ||
        !CopySizes(value, old)) {
      Erase(values);
      return false;
    }
    editor_.ReplaceAllUses(old, value);
    editor_.EraseNode(id);
    return true;
  }

  // ---- Embeddings

  struct Rows {
    Argument weight, scales, zero_points;  // none if the weight is not quantized
    int64_t low = 0, high = 0;
  };

  Rows QuantizedRows(const Argument& argument) const {
    const Node* node = Producer(argument, dequantize_channels_);
    if (node != nullptr) {
      const TensorMeta* weight = Tensor(node->argument("input"));
      const int64_t* axis = node->argument("axis").get_if<int64_t>();
      if (weight == nullptr || weight->rank() != 2 || axis == nullptr ||
          (*axis != 0 && *axis != -2)) {
        return {};
      }
    } else if ((node = Producer(argument, dequantize_groups_)) == nullptr) {
      return {};
    }
    const int64_t *low = node->argument("quant_min").get_if<int64_t>(),
                  *high = node->argument("quant_max").get_if<int64_t>();
    if (low == nullptr || high == nullptr) return {};
    return {node->argument("input"), node->argument("scales"), node->argument("zero_points"), *low,
            *high};
  }

  bool FuseEmbedding(NodeId id) {
    const Rows rows = QuantizedRows(graph_.node(id).argument("weight"));
    const TensorMeta *weight = Tensor(rows.weight), *scales = Tensor(rows.scales);
    const ValueId old = graph_.ResultOf(id);
    const TensorMeta* result = graph_.value(old).tensor();
    // The dequantized weight is float32: scales of other dtypes are converted first, which rounds
    // differently.
    if (weight == nullptr || scales == nullptr || !IsByte(weight->dtype) ||
        scales->dtype != DType::kFloat32 || result->dtype != DType::kFloat32) {
      return false;
    }
    struct Packing {
      int bits;
      int64_t low, high;
      std::string_view op;
    };
    constexpr Packing kPackings[] = {
        {2, -2, 1, "quantized_decomposed.embedding_2bit.default"},
        {4, -8, 7, "quantized_decomposed.embedding_4bit.default"},
        {8, 0, 0, "quantized_decomposed.embedding_byte.default"},
    };
    for (const Packing& packing : kPackings) {
      const bool bytes = packing.bits == 8;
      if (!bytes && (rows.low != packing.low || rows.high != packing.high)) continue;
      const OpOverload* target = Find(packing.op);
      if (target == nullptr) continue;
      Argument numbers = rows.weight;
      std::optional<ConstantTensor> packed;
      if (!bytes) {
        packed = Pack(rows.weight, packing.bits);
        if (!packed.has_value()) continue;
      }
      const std::optional<Argument> zero_points = AsFloat(id, rows.zero_points);
      if (!zero_points.has_value()) return false;
      const bool is_packed = packed.has_value();
      if (is_packed) numbers = AddConstant(*std::move(packed), rows.weight);
      const Argument indices = graph_.node(id).argument("indices");
      absl::StatusOr<ValueId> value =
          Insert(id, target,
                 ArgumentsByName(*target->schema(), {{"weight", numbers},
                                                     {"weight_scales", rows.scales},
                                                     {"weight_zero_points", *zero_points},
                                                     {"weight_quant_min", rows.low},
                                                     {"weight_quant_max", rows.high},
                                                     {"indices", indices}}));
      if (value.ok() && ReplaceResult(id, {*value})) return true;
      if (*zero_points != rows.zero_points) Erase({*zero_points->get_if<ValueId>()});
      if (is_packed) {
        const size_t position = *program_.InputIndex(*numbers.get_if<ValueId>());
        EraseInputs(program_, editor_, [&](size_t input) { return input == position; });
      }
      return false;
    }
    return false;
  }

  // Returns zero points as float32, as embeddings require; none for none.
  std::optional<Argument> AsFloat(NodeId before, const Argument& zero_points) {
    if (zero_points.is_none()) return Argument();
    const TensorMeta* meta = Tensor(zero_points);
    if (meta == nullptr) return std::nullopt;
    if (meta->dtype == DType::kFloat32) return zero_points;
    const bool edge = program_.dialect == IrDialect::kEdge;
    const OpOverload* to =
        Find(edge ? "dim_order_ops._to_dim_order_copy.default" : "aten._to_copy.default");
    if (to == nullptr) return std::nullopt;
    Argument::List order;
    for (int d = 0; d < meta->rank(); ++d) order.emplace_back(d);
    std::vector<Argument> arguments = ArgumentsByName(
        *to->schema(),
        {{"self", zero_points}, {"dtype", DType::kFloat32}, {"dim_order", std::move(order)}});
    const absl::StatusOr<ValueId> value = Insert(before, to, std::move(arguments));
    if (!value.ok()) return std::nullopt;
    return Argument(*value);
  }

  const ConstantTensor* ConstantOf(ValueId value) const {
    if (id_ != ExportedProgram::kTop) return nullptr;
    const std::optional<size_t> input = program_.InputIndex(value);
    if (!input.has_value()) return nullptr;
    const InputSpec& spec = program_.signature.inputs[*input];
    for (const OutputSpec& output : program_.signature.outputs) {
      if (IsMutation(output.kind) && output.target == spec.target) return nullptr;
    }
    return NamesTensor(spec.kind) ? program_.FindConstant(spec) : nullptr;
  }

  // Packs the elements of the weight into bytes, in the order of embedding_4bit (first element in
  // the upper half) and embedding_2bit (first element in the lowest bits). nullopt if the weight is
  // not constant, rows do not fill bytes, or a number is out of range.
  std::optional<ConstantTensor> Pack(const Argument& weight, int bits) const {
    const ConstantTensor* tensor = ConstantOf(*weight.get_if<ValueId>());
    const int per_byte = 8 / bits;
    const int64_t offset = int64_t{1} << (bits - 1);
    if (tensor == nullptr || tensor->dtype() != DType::kInt8 || tensor->sizes().size() != 2 ||
        tensor->sizes()[1] % per_byte != 0) {
      return std::nullopt;
    }
    const absl::StatusOr<Storage> dense = tensor->Dense(ContiguousOrder(2));
    if (!dense.ok()) return std::nullopt;
    std::vector<std::byte> packed(dense->bytes.size() / per_byte);
    for (size_t i = 0; i < packed.size() * per_byte; ++i) {
      const int64_t number = static_cast<int8_t>(dense->bytes[i]);
      if (number < -offset || number >= offset) return std::nullopt;
      const int k = static_cast<int>(i % per_byte);
      const int shift = bits == 4 ? 4 * (1 - k) : bits * k;
      packed[i / per_byte] |= static_cast<std::byte>((number + offset) << shift);
    }
    auto constant = ConstantTensor::Contiguous(DType::kUint8,
                                               {tensor->sizes()[0], tensor->sizes()[1] / per_byte},
                                               Storage::Own(std::move(packed)));
    if (!constant.ok()) return std::nullopt;
    return *std::move(constant);
  }

  // Adds a constant input next to `like`, named after it.
  Argument AddConstant(ConstantTensor tensor, const Argument& like) {
    const size_t position = *program_.InputIndex(*like.get_if<ValueId>()) + 1;
    const std::string fqn = UnusedTensorName(
        program_, absl::StrCat(program_.signature.inputs[position - 1].target, "_packed"));
    std::vector<SymInt> sizes(tensor.sizes().begin(), tensor.sizes().end());
    const ValueId value =
        InsertConstantInput(program_, editor_, position,
                            absl::StrCat(graph_.value(*like.get_if<ValueId>()).name, "_packed"),
                            fqn, TensorMeta::Contiguous(tensor.dtype(), std::move(sizes)));
    program_.constants.emplace(fqn, std::move(tensor));
    return value;
  }

  ExportedProgram& program_;
  GraphId id_;
  GraphEditor editor_;
  const Graph& graph_;
  // Of the ATen dialect; null if not in the registry.
  const OpOverload *const quantize_, *const dequantize_, *const dequantize_channels_,
                                                             *const dequantize_groups_,
                                                                 *const add_, *const relu_,
                                                                                  *const embedding_;
};

absl::StatusOr<bool> Run(ExportedProgram& program) {
  bool changed = false;
  for (uint32_t g = 0; g < program.graphs.size(); ++g) {
    changed |= Fusion(program, GraphId(g)).Run();
  }
  return changed;
}

}  // namespace

Pass FuseQuantizedOps() { return {"fuse_quantized_ops", Run}; }

}  // namespace belay::exir
