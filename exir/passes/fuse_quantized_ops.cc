#include "exir/passes/fuse_quantized_ops.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
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
  // `changing`: tensors that another method writes to.
  Fusion(ExportedProgram& program, GraphId graph, const absl::btree_set<std::string>& changing)
      : program_(program),
        id_(graph),
        changing_(changing),
        editor_(program.graphs[graph]),
        graph_(editor_.graph()),
        quantize_(Aten("quantized_decomposed.quantize_per_tensor.default")),
        dequantize_(Aten("quantized_decomposed.dequantize_per_tensor.default")),
        dequantize_channels_(Aten("quantized_decomposed.dequantize_per_channel.default")),
        dequantize_groups_(Aten("quantized_decomposed.dequantize_per_channel_group.default")),
        dequantize_tokens_(Aten("quantized_decomposed.dequantize_per_token.default")),
        convert_(Find(ConversionName())),
        add_(Aten("aten.add.Tensor")),
        relu_(Aten("aten.relu.default")),
        mul_(Aten("aten.mul.Tensor")),
        sub_(Aten("aten.sub.Tensor")),
        view_(Aten("aten.view_copy.default")),
        embedding_(Aten("aten.embedding.default")) {}

  bool Run(bool embeddings_only) {
    bool changed = false;
    for (NodeId id : graph_.NodeList()) {
      const Node& node = graph_.node(id);
      if (node.target->aten() == quantize_) {
        changed |= !embeddings_only && FuseInto(id);
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

  std::string_view ConversionName() const {
    return program_.dialect == IrDialect::kEdge ? "dim_order_ops._to_dim_order_copy.default"
                                                : "aten._to_copy.default";
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
      absl::StatusOr<ValueId> value =
          InsertInferred(editor_, id, graph_.node(*it).target, std::move(arguments));
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
        InsertInferred(editor_, id, target,
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
    ValueId dequantized = {};
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
    } else if ((node = Producer(argument, dequantize_tokens_)) != nullptr) {
      // Scales [rows, 1] of a matrix are one group per row.
      const TensorMeta* weight = Tensor(node->argument("input"));
      if (weight == nullptr || weight->rank() != 2) return {};
    } else if ((node = Producer(argument, dequantize_groups_)) == nullptr) {
      return {};
    }
    const int64_t *low = node->argument("quant_min").get_if<int64_t>(),
                  *high = node->argument("quant_max").get_if<int64_t>();
    if (low == nullptr || high == nullptr || !HasSmallElements(node->argument("zero_points"))) {
      return {};
    }
    return {node->argument("input"),
            node->argument("scales"),
            node->argument("zero_points"),
            *low,
            *high,
            *argument.get_if<ValueId>()};
  }

  // Whether float32 represents all differences of bytes from these zero points exactly. Follows
  // conversions and data movement to a narrow integer or a constant.
  bool HasSmallElements(const Argument& zero_points) const {
    if (zero_points.is_none()) return true;
    for (const ValueId* value = zero_points.get_if<ValueId>(); value != nullptr;) {
      const TensorMeta* meta = graph_.value(*value).tensor();
      if (meta == nullptr) return false;
      // Embeddings subtract float32 zero points as the dequantization does.
      if (meta->dtype == DType::kFloat32) return true;
      if (!IsIntegral(meta->dtype, /*include_bool=*/false)) return false;
      if (DTypeSize(meta->dtype) <= 2) return true;
      const NodeId producer = graph_.value(*value).producer;
      if (!producer.valid()) return HasSmallElements(ConstantOf(*value));
      const Node& node = graph_.node(producer);
      if (node.target != convert_ && !IsMovement(node)) return false;
      value = node.operand().get_if<ValueId>();
    }
    return false;
  }
  static bool HasSmallElements(const ConstantTensor* tensor) {
    constexpr int64_t kMostZeroPoint = 1 << 22;
    const auto all_small = [](const auto* first, int64_t count) {
      return std::all_of(first, first + count, [](int64_t zero) {
        return zero >= -kMostZeroPoint && zero <= kMostZeroPoint;
      });
    };
    if (tensor == nullptr) return false;
    const absl::StatusOr<Storage> dense = tensor->Dense();
    if (!dense.ok()) return false;
    const int64_t count = tensor->view().numel();
    if (tensor->dtype() == DType::kInt32) {
      return all_small(reinterpret_cast<const int32_t*>(dense->bytes.data()), count);
    }
    return tensor->dtype() == DType::kInt64 &&
           all_small(reinterpret_cast<const int64_t*>(dense->bytes.data()), count);
  }

  // Whether the dequantized table has no users except embeddings, directly or after a conversion,
  // and its quantized weight no other users: the weight is erased when all are fused.
  bool IsOnlyEmbedded(const Rows& rows) const {
    const auto is_embedded = [&](ValueId value, bool convert, const auto& self) -> bool {
      if (graph_.IsOutput(value)) return false;
      const std::vector<NodeId>& users = graph_.value(value).users;
      return std::all_of(users.begin(), users.end(), [&](NodeId user) {
        const Node& node = graph_.node(user);
        if (node.target->aten() == embedding_) return true;
        return convert && node.target == convert_ && self(node.results()[0], false, self);
      });
    };
    const ValueId weight = *rows.weight.get_if<ValueId>();
    return graph_.HasOneUse(weight) && is_embedded(rows.dequantized, true, is_embedded);
  }

  // Follows views to a matrix [rows, n].
  Argument MatrixBehindViews(Argument argument, const SymInt& rows) const {
    for (;;) {
      const TensorMeta* meta = Tensor(argument);
      if (meta == nullptr) return Argument();
      if (meta->rank() == 2 && meta->sizes[0] == rows) return argument;
      const Node* view = Producer(argument, view_);
      if (view == nullptr) return Argument();
      argument = view->operand();
    }
  }
  // Returns the bytes [rows, n] of a conversion of them, or of a view of them.
  Argument ConvertedBytes(const Argument& argument, const SymInt& rows) const {
    const Node* conversion = convert_ == nullptr ? nullptr : Producer(argument, convert_->aten());
    const TensorMeta* bytes = conversion == nullptr ? nullptr : Tensor(conversion->operand());
    if (bytes == nullptr || !IsByte(bytes->dtype)) return Argument();
    return MatrixBehindViews(conversion->operand(), rows);
  }

  // Matches float16 and bfloat16 tables [rows, n], with T the dtype:
  //
  //   (T(q) - T(zero)) * scale, or T(q) * scale, viewed as groups of a row if there are several
  //
  // where q and zero are bytes. Differences of bytes are exact in T, and products are exact in
  // float32. Multiplying in float32 and rounding to T therefore gives the same bits.
  Rows NarrowRows(const Argument& table) const {
    const TensorMeta* meta = Tensor(table);
    if (meta == nullptr || meta->rank() != 2 ||
        (meta->dtype != DType::kFloat16 && meta->dtype != DType::kBFloat16)) {
      return {};
    }
    const SymInt& count = meta->sizes[0];
    Argument viewed = table;
    const Node* product = Producer(viewed, mul_);
    if (const Node* view = Producer(viewed, view_); view != nullptr) {
      viewed = view->operand();
      product = Producer(viewed, mul_);
    }
    if (product == nullptr) return {};
    const TensorMeta& whole = *Tensor(viewed);
    if ((whole.rank() != 2 && whole.rank() != 3) || !(whole.sizes[0] == count)) return {};
    // One parameter per row, or per row and group.
    const auto is_parameter = [&](const Argument& argument) {
      const TensorMeta* t = Tensor(argument);
      return t != nullptr && t->rank() == whole.rank() && t->sizes[0] == count &&
             t->sizes.back() == SymInt(1) && (whole.rank() == 2 || t->sizes[1] == whole.sizes[1]);
    };
    for (const auto& [left, right] : {std::pair("self", "other"), {"other", "self"}}) {
      const Argument scale = product->argument(right);
      if (!is_parameter(scale) || Tensor(scale)->dtype != meta->dtype) continue;
      Argument numbers = product->argument(left), zero_points;
      if (const Node* difference = Producer(numbers, sub_); difference != nullptr) {
        const Argument& alpha = difference->argument("alpha");
        if (alpha != Argument(1) && alpha != Argument(1.0)) continue;
        if (!is_parameter(difference->argument("other"))) continue;
        zero_points = ConvertedBytes(difference->argument("other"), count);
        if (zero_points.is_none()) continue;
        numbers = difference->argument("self");
      }
      const TensorMeta* converted = Tensor(numbers);
      if (converted == nullptr || converted->dtype != meta->dtype ||
          converted->sizes != whole.sizes) {
        continue;
      }
      const Argument weight = ConvertedBytes(numbers, count),
                     scales = MatrixBehindViews(scale, count);
      const TensorMeta* bytes = Tensor(weight);
      if (bytes == nullptr || scales.is_none() || bytes->sizes != meta->sizes) continue;
      const int64_t low = bytes->dtype == DType::kInt8 ? -128 : 0;
      return {weight, scales, zero_points, low, low + 255, *table.get_if<ValueId>()};
    }
    return {};
  }

  bool FuseEmbedding(NodeId id) {
    Argument table = graph_.node(id).argument("weight");
    // embedding(convert(table)) == convert(embedding(table))
    if (const Node* conversion = convert_ == nullptr ? nullptr : Producer(table, convert_->aten());
        conversion != nullptr && IsFloatingPoint(Tensor(table)->dtype)) {
      table = conversion->operand();
    }
    Rows rows = QuantizedRows(table);
    const bool narrow = rows.weight.is_none();
    if (narrow) {
      table = graph_.node(id).argument("weight");
      rows = NarrowRows(table);
    }
    const TensorMeta *weight = Tensor(rows.weight), *scales = Tensor(rows.scales);
    const DType result = graph_.value(graph_.ResultOf(id)).tensor()->dtype;
    // The dequantized weight is float32: scales of other dtypes are converted first, which rounds
    // differently.
    if (weight == nullptr || scales == nullptr || !IsByte(weight->dtype) ||
        (!narrow &&
         (scales->dtype != DType::kFloat32 || Tensor(table)->dtype != DType::kFloat32))) {
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
      // A packed copy of a weight with other users would be stored in addition.
      if (!bytes && !IsOnlyEmbedded(rows)) continue;
      const OpOverload* target = Find(packing.op);
      if (target == nullptr) continue;
      Argument numbers = rows.weight;
      std::optional<ConstantTensor> packed;
      if (!bytes) {
        packed = Pack(rows.weight, packing.bits);
        if (!packed.has_value()) continue;
      }
      const std::optional<Argument> zero_points = Converted(id, rows.zero_points, DType::kFloat32);
      if (!zero_points.has_value()) return false;
      const std::optional<Argument> wide_scales = Converted(id, rows.scales, DType::kFloat32);
      if (!wide_scales.has_value()) return false;
      const bool is_packed = packed.has_value();
      if (is_packed) numbers = AddConstant(*std::move(packed), rows.weight);
      const Argument indices = graph_.node(id).argument("indices");
      absl::StatusOr<ValueId> value =
          InsertInferred(editor_, id, target,
                         ArgumentsByName(*target->schema(), {{"weight", numbers},
                                                             {"weight_scales", *wide_scales},
                                                             {"weight_zero_points", *zero_points},
                                                             {"weight_quant_min", rows.low},
                                                             {"weight_quant_max", rows.high},
                                                             {"indices", indices}}));
      if (value.ok()) {
        std::vector<ValueId> values = {*value};
        const std::optional<Argument> converted = Converted(id, *value, result);
        const bool converts = converted.has_value() && *converted != Argument(*value);
        if (converts) values.push_back(*converted->get_if<ValueId>());
        if (!converted.has_value()) {
          Erase(values);
        } else if (ReplaceResult(id, values)) {
          return true;
        }
      }
      if (*wide_scales != rows.scales) Erase({*wide_scales->get_if<ValueId>()});
      if (*zero_points != rows.zero_points) Erase({*zero_points->get_if<ValueId>()});
      if (is_packed) {
        const size_t position = *program_.InputIndex(*numbers.get_if<ValueId>());
        EraseInputs(program_, editor_, [&](size_t input) { return input == position; });
      }
      return false;
    }
    return false;
  }

  // Returns the tensor converted to a dtype before a node; none for none. nullopt if that fails.
  std::optional<Argument> Converted(NodeId before, const Argument& tensor, DType dtype) {
    if (tensor.is_none()) return Argument();
    const TensorMeta* meta = Tensor(tensor);
    if (meta == nullptr || convert_ == nullptr) return std::nullopt;
    if (meta->dtype == dtype) return tensor;
    Argument::List order;
    for (int d = 0; d < meta->rank(); ++d) order.emplace_back(d);
    std::vector<Argument> arguments = ArgumentsByName(
        *convert_->schema(), {{"self", tensor}, {"dtype", dtype}, {"dim_order", std::move(order)}});
    const absl::StatusOr<ValueId> value =
        InsertInferred(editor_, before, convert_, std::move(arguments));
    if (!value.ok()) return std::nullopt;
    return Argument(*value);
  }

  const ConstantTensor* ConstantOf(ValueId value) const {
    if (id_ != ExportedProgram::kTop) return nullptr;
    const std::optional<size_t> input = program_.InputIndex(value);
    if (!input.has_value()) return nullptr;
    const InputSpec& spec = program_.signature.inputs[*input];
    if (changing_.contains(spec.target) || spec.replaceable) return nullptr;
    for (const OutputSpec& output : program_.signature.outputs) {
      if (IsMutation(output.kind) && output.target == spec.target) return nullptr;
    }
    return program_.FindConstant(spec);
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
    program_.signature.inputs[position].file = program_.signature.inputs[position - 1].file;
    program_.constants.emplace(fqn, std::move(tensor));
    return value;
  }

  ExportedProgram& program_;
  GraphId id_;
  const absl::btree_set<std::string>& changing_;
  GraphEditor editor_;
  const Graph& graph_;
  // Of the ATen dialect; null if not in the registry.
  const OpOverload *const quantize_, *const dequantize_, *const dequantize_channels_,
                                                             *const dequantize_groups_,
                                                                 *const dequantize_tokens_;
  const OpOverload* const convert_;  // of the program's dialect
  const OpOverload *const add_, *const relu_, *const mul_, *const sub_, *const view_;
  const OpOverload* const embedding_;
};

Pass FusionPass(std::string name, bool embeddings_only, absl::btree_set<std::string> changing) {
  return {std::move(name), [=](ExportedProgram& program) -> absl::StatusOr<bool> {
            bool changed = false;
            for (uint32_t g = 0; g < program.graphs.size(); ++g) {
              changed |= Fusion(program, GraphId(g), changing).Run(embeddings_only);
            }
            return changed;
          }};
}

}  // namespace

Pass FuseQuantizedOps(absl::btree_set<std::string> changing) {
  return FusionPass("fuse_quantized_ops", false, std::move(changing));
}

Pass FuseQuantizedEmbeddings(absl::btree_set<std::string> changing) {
  return FusionPass("fuse_quantized_embeddings", true, std::move(changing));
}

}  // namespace belay::exir
