#include "backends/xnnpack/aot/payload_writer.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "backends/xnnpack/aot/composite_form.h"
#include "backends/xnnpack/aot/int8_form.h"
#include "backends/xnnpack/aot/payload_values.h"
#include "backends/xnnpack/aot/weight.h"
#include "backends/xnnpack/graph.h"
#include "executorch/format/xnnpack_payload.h"
#include "exir/backend/delegate_mapping_builder.h"
#include "exir/ir/text.h"
#include "flatbuffers/flatbuffers.h"
#include "runtime/core/annotate.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::xnnpack {
namespace {

using exir::ValueId;

constexpr uint32_t kNoId = PayloadValues::kNoId;
// Debug handle of nodes that the program does not have.
constexpr uint32_t kNoDebugHandle = 65535;

// Index in NHWC of dimension i of NCHW.
int64_t NhwcIndex(int64_t i) {
  constexpr int kPlaces[] = {0, 3, 1, 2};
  return kPlaces[i];
}
Order Other(Order order) { return order == kRowMajor ? kChannelsLast : kRowMajor; }

class Writer {
 public:
  Writer(const exir::ExportedProgram& program, Target target)
      : program_(program), graph_(program.top()), target_(target) {
    payload_.version = "0";
  }

  absl::StatusOr<exir::PreprocessResult> Write() {
    ABSL_RETURN_IF_ERROR(AddInputs());
    for (exir::NodeId id : graph_.nodes()) {
      const absl::Status status = AddNode(id);
      if (!status.ok()) return Annotate(status, exir::DescribeNode(graph_, id));
    }
    ABSL_RETURN_IF_ERROR(AddOutputs());
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Graph::Pack(builder, &payload_), fb::GraphIdentifier());
    const std::string bytes =
        JoinPayload({reinterpret_cast<const std::byte*>(builder.GetBufferPointer()),
                     static_cast<size_t>(builder.GetSize())});
    const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
    result_.processed = exir::Storage::Own({data, data + bytes.size()});
    result_.named_data = values_.named_data();
    exir::DelegateMappingBuilder mapping;
    for (const auto& [handle, handles] : handles_) {
      ABSL_RETURN_IF_ERROR(mapping.InsertHandles(handles, handle).status());
    }
    result_.debug_handle_map = mapping.mapping();
    return std::move(result_);
  }

 private:
  // Ids of a program value in the payload, per order.
  struct Entry {
    std::optional<uint32_t> ids[2];
    Order order = kRowMajor;  // of the first id
    // The node that computes it, if it may have bounds and has none yet.
    fb::NodeT* unbounded = nullptr;
    // Source of a lazily dequantized value.
    std::optional<ValueId> bytes;
    uint32_t handle = kNoDebugHandle;
  };

  // --- Values ---

  // Returns the value's id in this order. If needed, adds the constant, dequantizes, or transposes;
  // a transpose gets the debug handle `reader`.
  absl::StatusOr<uint32_t> IdOf(ValueId value, Order order, uint32_t reader) {
    const Entry& entry = entries_[value];
    if (entry.ids[order].has_value()) return *entry.ids[order];
    const std::optional<uint32_t> other = entry.ids[Other(order)];
    uint32_t id = 0;
    if (entry.bytes.has_value() && !other.has_value()) {
      const uint32_t handle = entry.handle;
      fb::UnaryT convert;
      ABSL_ASSIGN_OR_RETURN(convert.input_id, IdOf(*entry.bytes, order, handle));
      id = convert.output_id = values_.NewValue(value, order);
      NewNode(NodeType::Convert, convert, handle);
      AddHandle(handle, graph_.value(value).producer);
    } else if (!other.has_value() || ConstantOf(program_, value) != nullptr) {
      const int rank = SizesOf(program_, value).size();
      ABSL_ASSIGN_OR_RETURN(
          id, values_.NewConstant(
                  value, order == kRowMajor ? ContiguousOrder(rank) : ChannelsLastOrder(4)));
    } else {
      id = values_.NewValue(value, order);
      fb::TransposeT transpose;
      transpose.perm = order == kRowMajor ? std::vector<uint32_t>{0, 3, 1, 2}
                                          : std::vector<uint32_t>{0, 2, 3, 1};
      transpose.num_dims = 4;
      transpose.input_id = *other;
      transpose.output_id = id;
      NewNode(NodeType::StaticTranspose, std::move(transpose),
              reader == 0 ? kNoDebugHandle : reader);
      if (reader != 0) handles_.try_emplace(int64_t{reader}, 1, int64_t{reader});
    }
    entries_[value].ids[order] = id;
    return id;
  }

  // The order that the value has in the program.
  Order OrderOf(ValueId value) const {
    return IsChannelsLast(graph_.MetaOf(value)) ? kChannelsLast : kRowMajor;
  }

  absl::Status AddInputs() {
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const ValueId input = graph_.inputs()[i];
      if (exir::NamesTensor(program_.signature.inputs[i].kind)) {
        if (ConstantOf(program_, input) != nullptr) continue;
        return absl::UnimplementedError(
            absl::StrCat("%", graph_.value(input).name, " is state that changes"));
      }
      // A scalar size; the payload takes sizes from tensors.
      if (graph_.value(input).tensor() == nullptr) {
        ++payload_.num_externs;
        continue;
      }
      const Order order = OrderOf(input);
      const uint32_t id = values_.NewValue(input, order);
      entries_[input].ids[order] = id;
      entries_[input].order = order;
      values_.tensor(id).flags = kExternalInput;
      values_.tensor(id).external_id = payload_.num_externs++;
      payload_.input_ids.push_back(id);
    }
    return absl::OkStatus();
  }

  absl::Status AddOutputs() {
    for (size_t k = 0; k < graph_.outputs().size(); ++k) {
      const ValueId* value = graph_.outputs()[k].get_if<ValueId>();
      if (value == nullptr || program_.signature.outputs[k].kind != exir::OutputKind::kUserOutput) {
        return absl::UnimplementedError(absl::StrCat(
            "output ", k, " is a ", exir::OutputKindName(program_.signature.outputs[k].kind),
            "; only tensors that are returned are supported"));
      }
      const Order order = OrderOf(*value);
      const exir::NodeId producer = graph_.value(*value).producer;
      const int64_t handle = producer.valid() ? graph_.node(producer).debug_handle : 0;
      ABSL_ASSIGN_OR_RETURN(uint32_t id, IdOf(*value, order, static_cast<uint32_t>(handle)));
      if (values_.tensor(id).flags != 0 || values_.tensor(id).constant_buffer_idx != 0) {
        const uint32_t copy = values_.NewValue(*value, order);
        fb::UnaryT fields;
        fields.input_id = id;
        fields.output_id = copy;
        NewNode(NodeType::Copy, fields, kNoDebugHandle);
        id = copy;
      }
      values_.tensor(id).flags = kExternalOutput;
      values_.tensor(id).external_id = payload_.num_externs++;
      payload_.output_ids.push_back(id);
    }
    return absl::OkStatus();
  }

  // --- Nodes ---

  template <class FieldsT>
  fb::NodeT* NewNode(NodeType type, FieldsT fields, uint32_t debug_handle) {
    auto node = std::make_unique<fb::NodeT>();
    node->node.type = type;
    node->node.value = new FieldsT(std::move(fields));  // takes ownership
    node->debug_handle = debug_handle;
    payload_.nodes.push_back(std::move(node));
    return payload_.nodes.back().get();
  }

  static void Bound(fb::NodeT& node, float min, float max) {
    node.output_min_max = std::make_unique<fb::OutputMinMaxT>();
    node.output_min_max->output_min = min;
    node.output_min_max->output_max = max;
  }

  // Order for a node that accepts either: NHWC if its first image has it and all other operands can
  // have it.
  Order OrderFor(const Operation& operation) {
    if (operation.images == Images::kNhwc) return kChannelsLast;
    if (operation.images == Images::kRows) return kRowMajor;
    bool any = false;
    for (const auto& operand : operation.operands) {
      const ValueId* value = std::get_if<ValueId>(&operand);
      if (value == nullptr) continue;
      const Sizes sizes = SizesOf(program_, *value);
      if (sizes.size() != 4 && NumElements(sizes) != 1) return kRowMajor;
      const auto it = entries_.find(*value);
      any = any || (sizes.size() == 4 && it != entries_.end() && it->second.order == kChannelsLast);
    }
    return any ? kChannelsLast : kRowMajor;
  }

  // Steps of a node also stand for the nodes merged into it.
  void AddHandle(uint32_t handle, exir::NodeId merged) {
    const auto other = graph_.node(merged).debug_handle;
    if (handle == 0 || other == 0) return;
    handles_[int64_t{handle}].push_back(other);
  }

  absl::Status AddNode(exir::NodeId id) {
    const exir::Node& node = graph_.node(id);
    // Weights are emitted as constants of their users; merged nodes are emitted already.
    if (merged_.contains(id) || CompositeUserOf(program_, id).has_value() ||
        (!node.outputs.empty() && !node.outputs[0].values.empty() &&
         WeightOf(program_, node.outputs[0].values[0]).has_value())) {
      return absl::OkStatus();
    }
    ABSL_ASSIGN_OR_RETURN(const Operation operation, ReadOperation(program_, id, target_));
    const ValueId result =
        operation.int8.has_value() ? operation.int8->result : node.outputs[0].values[0];
    const auto handle = static_cast<uint32_t>(node.debug_handle);
    if (operation.int8.has_value()) {
      merged_.insert(operation.int8->merged.begin(), operation.int8->merged.end());
    }
    const ValueId* first = std::get_if<ValueId>(&operation.operands[0]);
    if (operation.type == NodeType::Convert && AddConvert(*first, result, handle)) {
      return absl::OkStatus();
    }
    if (operation.type == NodeType::NONE) {
      if (!entries_.contains(*first))
        ABSL_RETURN_IF_ERROR(IdOf(*first, kRowMajor, handle).status());
      Entry alias = entries_[*first];
      alias.unbounded = nullptr;
      entries_[result] = alias;
      return absl::OkStatus();
    }
    if (operation.type == NodeType::Clamp && graph_.HasOneUse(*first) &&
        entries_.contains(*first) && entries_[*first].unbounded != nullptr) {
      Entry bounded = entries_[*first];
      Bound(*bounded.unbounded, operation.min, operation.max);
      AddHandle(bounded.unbounded->debug_handle, id);
      bounded.unbounded = nullptr;
      entries_[result] = bounded;
      return absl::OkStatus();
    }
    const Order order = OrderFor(operation);
    std::vector<uint32_t> inputs;
    for (const auto& operand : operation.operands) {
      if (const float* number = std::get_if<float>(&operand)) {
        ABSL_ASSIGN_OR_RETURN(inputs.emplace_back(), values_.NewNumbers(Sizes(), {*number}));
        continue;
      }
      const ValueId value = std::get<ValueId>(operand);
      const bool image = order == kChannelsLast && SizesOf(program_, value).size() == 4;
      ABSL_ASSIGN_OR_RETURN(inputs.emplace_back(),
                            IdOf(value, image ? kChannelsLast : kRowMajor, handle));
    }
    if (operation.dynamic) {
      fb::UnaryT convert;
      convert.input_id = inputs[0];
      convert.output_id = inputs[0] = values_.NewDynamicRows(SizesOf(program_, *first));
      NewNode(NodeType::Convert, convert, handle);
    }
    uint32_t weight = kNoId, bias = kNoId;
    uint32_t flags = operation.flags;
    if (operation.weight.has_value()) {
      const Weight constant = *WeightOf(program_, *operation.weight);
      DimOrder weight_order = WeightOrder(operation.type);
      // A weight stored as [out, in] keeps that order; int8 weights must have it.
      if (operation.type == NodeType::FullyConnected &&
          (operation.int8.has_value() || operation.dynamic || constant.tensor.strides()[0] == 1)) {
        weight_order = {1, 0};
        flags = 0;
      }
      if (operation.int8.has_value() || operation.dynamic) {
        ABSL_ASSIGN_OR_RETURN(weight, values_.NewWeight(constant, weight_order));
      } else {
        ABSL_ASSIGN_OR_RETURN(weight, values_.NewConstant(*operation.weight, weight_order));
      }
      if (operation.bias.has_value() && operation.int8.has_value()) {
        const float input_scale = QuantizationOf(program_, *first)->scale;
        ABSL_ASSIGN_OR_RETURN(
            bias, values_.NewInt32Bias(WeightOf(program_, *operation.bias)->tensor, input_scale,
                                       constant.scales));
      } else if (operation.bias.has_value()) {
        ABSL_ASSIGN_OR_RETURN(bias, values_.NewConstant(*operation.bias, ContiguousOrder(1)));
      }
    } else if (!operation.scales.empty()) {
      const auto channels = static_cast<int64_t>(operation.scales.size());
      Sizes sizes(SizesOf(program_, result).size(), 1);
      sizes.back() = channels;
      ABSL_ASSIGN_OR_RETURN(weight, values_.NewNumbers(sizes, operation.scales));
      if (!operation.shifts.empty()) {
        ABSL_ASSIGN_OR_RETURN(bias, values_.NewNumbers(Sizes({channels}), operation.shifts));
      }
    }
    const uint32_t output = values_.NewValue(result, order);
    AddHandle(handle, id);
    for (exir::NodeId part : operation.inner) AddHandle(handle, part);
    if (operation.int8.has_value()) {
      for (exir::NodeId part : operation.int8->merged) AddHandle(handle, part);
    }
    fb::NodeT* added = AddFields(operation, order, inputs, weight, bias, output, flags, handle);
    if (operation.has_bounds()) Bound(*added, operation.min, operation.max);
    Entry& entry = entries_[result];
    entry.ids[order] = output;
    entry.order = order;
    if (MayHaveBounds(operation.type) && !operation.int8.has_value()) entry.unbounded = added;
    return absl::OkStatus();
  }

  // Defers dequantization until a user needs float32, and reuses the int8 value if it is quantized
  // again with the same parameters. Returns false if the conversion must be a node.
  bool AddConvert(ValueId operand, ValueId result, uint32_t handle) {
    if (QuantizationOf(program_, operand).has_value()) {
      const Order order = entries_[operand].order;
      Entry& entry = entries_[result];
      entry.bytes = operand;
      entry.handle = handle;
      entry.order = order;
      return true;
    }
    const std::optional<ValueId> bytes = entries_[operand].bytes;
    if (!bytes.has_value() ||
        QuantizationOf(program_, *bytes) != QuantizationOf(program_, result)) {
      return false;
    }
    const Entry alias = entries_[*bytes];
    entries_[result] = alias;
    return true;
  }

  static DimOrder WeightOrder(NodeType type) {
    switch (type) {
      case NodeType::Conv2d:
        return {0, 2, 3, 1};
      case NodeType::DepthwiseConv2d:
      case NodeType::ConvTranspose2d:
        return {1, 2, 3, 0};
      default:
        return ContiguousOrder(2);
    }
  }

  fb::NodeT* AddFields(const Operation& operation, Order order, const std::vector<uint32_t>& inputs,
                       uint32_t weight, uint32_t bias, uint32_t output, uint32_t flags,
                       uint32_t handle) {
    const bool nhwc = order == kChannelsLast;
    const auto of_dims = [&](const Sizes& numbers) {
      return ToWire(nhwc ? ToNhwc(numbers) : numbers);
    };
    const auto n = [](int64_t number) { return static_cast<uint32_t>(number); };
    const Window& w = operation.window;
    const auto one_operand = [&](auto fields) {
      fields.input_id = inputs[0];
      fields.output_id = output;
      fields.flags = flags;
      return NewNode(operation.type, std::move(fields), handle);
    };
    switch (operation.type) {
      case NodeType::Add:
      case NodeType::Subtract:
      case NodeType::Multiply:
      case NodeType::Div:
      case NodeType::Minimum:
      case NodeType::Maximum:
      case NodeType::PReLU:
      case NodeType::BatchMatrixMultiply: {
        fb::BinaryT fields;
        fields.input1_id = inputs[0];
        fields.input2_id = operation.type == NodeType::PReLU ? weight : inputs[1];
        fields.output_id = output;
        return NewNode(operation.type, fields, handle);
      }
      case NodeType::FullyConnected: {
        fb::FullyConnectedT fields;
        fields.input1_id = inputs[0];
        fields.filter_id = weight;
        fields.bias_id = bias;
        fields.output_id = output;
        fields.flags = flags;
        return NewNode(operation.type, fields, handle);
      }
      case NodeType::Conv2d:
      case NodeType::DepthwiseConv2d:
      case NodeType::ConvTranspose2d: {
        fb::ConvolutionT fields;
        fields.padding_top = n(w.top);
        fields.padding_right = n(w.right);
        fields.padding_bottom = n(w.bottom);
        fields.padding_left = n(w.left);
        fields.kernel_height = n(w.kernel_height);
        fields.kernel_width = n(w.kernel_width);
        fields.subsampling_height = n(w.stride_height);
        fields.subsampling_width = n(w.stride_width);
        fields.dilation_height = n(w.dilation_height);
        fields.dilation_width = n(w.dilation_width);
        fields.group_input_channels = n(w.group_inputs);
        fields.group_output_channels = n(w.group_outputs);
        fields.groups = n(w.groups);
        fields.adjustment_height = n(w.adjust_height);
        fields.adjustment_width = n(w.adjust_width);
        fields.input1_id = inputs[0];
        fields.filter_id = weight;
        fields.bias_id = bias;
        fields.output_id = output;
        return NewNode(operation.type, fields, handle);
      }
      case NodeType::MaxPooling2d:
      case NodeType::AvgPooling2d: {
        fb::PoolT fields;
        fields.padding_top = n(w.top);
        fields.padding_right = n(w.right);
        fields.padding_bottom = n(w.bottom);
        fields.padding_left = n(w.left);
        fields.pooling_height = n(w.kernel_height);
        fields.pooling_width = n(w.kernel_width);
        fields.stride_height = n(w.stride_height);
        fields.stride_width = n(w.stride_width);
        if (operation.type == NodeType::MaxPooling2d) {
          fields.dilation_height = n(w.dilation_height);
          fields.dilation_width = n(w.dilation_width);
        }
        return one_operand(std::move(fields));
      }
      case NodeType::Concatenate2:
      case NodeType::Concatenate3:
      case NodeType::Concatenate4:
      case NodeType::Concatenate5: {
        fb::ConcatenateT fields;
        fields.axis = n(nhwc ? NhwcIndex(operation.numbers[0]) : operation.numbers[0]);
        uint32_t* const to[] = {&fields.input1_id, &fields.input2_id, &fields.input3_id,
                                &fields.input4_id, &fields.input5_id};
        for (size_t i = 0; i < 5; ++i) *to[i] = i < inputs.size() ? inputs[i] : kNoId;
        fields.output_id = output;
        return NewNode(operation.type, fields, handle);
      }
      case NodeType::StaticTranspose: {
        fb::TransposeT fields;
        fields.perm = ToWire(operation.numbers);
        fields.num_dims = static_cast<uint32_t>(fields.perm.size());
        return one_operand(std::move(fields));
      }
      case NodeType::StaticReshape: {
        fb::ReshapeT fields;
        fields.new_shape = ToWire(operation.numbers);
        fields.num_dims = static_cast<uint32_t>(fields.new_shape.size());
        return one_operand(std::move(fields));
      }
      case NodeType::StaticSlice: {
        fb::SliceT fields;
        fields.offsets = of_dims(operation.numbers);
        fields.sizes = of_dims(operation.more_numbers);
        fields.num_dims = static_cast<uint32_t>(fields.sizes.size());
        return one_operand(std::move(fields));
      }
      case NodeType::StaticConstantPad: {
        fb::PadT fields;
        fields.pre_paddings = of_dims(operation.numbers);
        fields.post_paddings = of_dims(operation.more_numbers);
        fields.padding_value = operation.number;
        return one_operand(std::move(fields));
      }
      case NodeType::StaticResizeBilinear2D: {
        fb::ResizeT fields;
        fields.new_height = n(operation.numbers[0]);
        fields.new_width = n(operation.numbers[1]);
        return one_operand(std::move(fields));
      }
      case NodeType::LeakyReLU:
      case NodeType::ELU: {
        fb::SlopeT fields;
        fields.slope = operation.number;
        return one_operand(std::move(fields));
      }
      default:
        return one_operand(fb::UnaryT());
    }
  }

  const exir::ExportedProgram& program_;
  const exir::Graph& graph_;
  Target target_;
  fb::GraphT payload_;
  PayloadValues values_{program_, payload_};
  absl::flat_hash_map<ValueId, Entry> entries_;
  absl::flat_hash_set<exir::NodeId> merged_;                // into earlier nodes
  absl::btree_map<int64_t, std::vector<int64_t>> handles_;  // of steps -> of their source nodes
  exir::PreprocessResult result_;
};

}  // namespace

absl::StatusOr<exir::PreprocessResult> WritePayload(const exir::ExportedProgram& program,
                                                    Target target) {
  return Writer(program, target).Write();
}

}  // namespace belay::xnnpack
