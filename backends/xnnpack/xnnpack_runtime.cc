#include "backends/xnnpack/xnnpack_runtime.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/xnnpack/graph.h"
#include "backends/xnnpack/graph_reader.h"
#include "backends/xnnpack/library_rules.h"
#include "backends/xnnpack/library_threads.h"
#include "backends/xnnpack/memory_plan.h"
#include "backends/xnnpack/nan.h"
#include "backends/xnnpack/node_sizes.h"
#include "backends/xnnpack/operators.h"
#include "runtime/backend/delegate_threads.h"
#include "runtime/core/annotate.h"
#include "runtime/core/arena.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/one_dtype_copy.h"
#include "runtime/core/reserved_memory.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::xnnpack {
namespace {

constexpr uintptr_t kPageBytes = 4096;
constexpr int kMaxInputs = 5;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

DType DtypeOf(Datatype datatype) {
  return datatype == Datatype::FP32 ? DType::kFloat32 : DType::kInt8;
}

// Saturates.
uint64_t Bytes(const Value& value, const Sizes& sizes) {
  const bool byte = value.datatype == Datatype::QINT8 || value.datatype == Datatype::QCINT8;
  const auto numel = static_cast<uint64_t>(NumElements(sizes).value_or(INT64_MAX));
  return CheckedMul<uint64_t>(numel, byte ? 1 : 4).value_or(UINT64_MAX);
}

Sizes Permuted(const Sizes& sizes, const DimOrder& order) {
  Sizes result;
  for (uint8_t dim : order) result.push_back(sizes[dim]);
  return result;
}
Sizes Unpermuted(const Sizes& sizes, const DimOrder& order) {
  Sizes result = sizes;
  for (int i = 0; i < order.size(); ++i) result[order[i]] = sizes[i];
  return result;
}

// Error for a tensor of the call that does not match the value.
absl::Status MismatchError(const Value& value, const Sizes& sizes, const EValue& of_call) {
  return absl::InvalidArgumentError(absl::StrCat(
      "value ", value.id, " is ", FormatSizes(sizes), " of dtype ",
      DTypeName(DtypeOf(value.datatype)), " in the payload, the call has ", of_call.KindName()));
}

// Returns the order of the dimensions in a tensor's memory. If dimensions of size 1 make it
// ambiguous, the order that yields `sizes`. A tensor of rank 0 may have one dimension of size 1 in
// the payload.
absl::StatusOr<DimOrder> OrderOf(const Value& value, const Sizes& sizes, const EValue& of_call) {
  const TensorView* tensor = of_call.get_if<TensorView>();
  if (tensor != nullptr && tensor->dtype == DtypeOf(value.datatype)) {
    if (tensor->sizes == sizes && tensor->is_contiguous()) return ContiguousOrder(tensor->rank());
    if (tensor->rank() == 0 && sizes == Sizes({1})) return DimOrder();
    const std::optional<DimOrder> order = DimOrderOf(tensor->sizes, tensor->strides);
    if (order.has_value() && tensor->rank() == sizes.size()) return *order;
  }
  return MismatchError(value, sizes, of_call);
}

bool IsConcatenation(NodeType type) {
  return type == NodeType::Concatenate2 || type == NodeType::Concatenate3 ||
         type == NodeType::Concatenate4 || type == NodeType::Concatenate5;
}

class XnnpackHandle final : public DelegateHandle {
 public:
  static absl::StatusOr<std::unique_ptr<DelegateHandle>> Create(const DelegateInitContext& context,
                                                                Graph graph) {
    MemoryBound bound;
    bound.Add(graph.nodes.size(), sizeof(Operator) + sizeof(WeightMagnitudes) + 128);
    bound.Add(graph.values.size(), sizeof(Place) + 256);
    ABSL_RETURN_IF_ERROR(context.memory->Take(bound.bytes(), "the delegate's tables"));
    ABSL_RETURN_IF_ERROR(CheckMemory(bound.bytes(), "the delegate's tables"));
    auto handle = std::make_unique<XnnpackHandle>(std::move(graph), context);
    ABSL_RETURN_IF_ERROR(handle->AddExternals(context));
    ABSL_RETURN_IF_ERROR(handle->Allocate(context));
    ABSL_RETURN_IF_ERROR(handle->MakeOperators(context));
    return handle;
  }

  XnnpackHandle(Graph graph, const DelegateInitContext& context)
      : graph_(std::move(graph)),
        places_(graph_.values.size()),
        num_arguments_(static_cast<int>(context.arguments.size())),
        num_outputs_(static_cast<int>(context.outputs.size())),
        threads_(context),
        library_pool_(LibraryUsesPool() ? LibraryPool(threads_.pool()) : nullptr),
        events_(context.events) {}

  absl::Status Execute(KernelContext& context) override {
    Budget budget;
    return ExecuteWithin(context, budget);
  }

  absl::Status ExecuteWithin(KernelContext& context, Budget& budget) override {
    ABSL_RETURN_IF_ERROR(context.CheckArity(num_arguments_, num_outputs_));
    ABSL_RETURN_IF_ERROR(UpdateSizes(context));
    UseScratch(reserved_.has_value() ? reserved_->data() : context.scratch().data());
    for (size_t i = 0; i < places_.size(); ++i) {
      if (!graph_.values[i].is_constant) ForgetMagnitude(places_[i]);
    }
    for (int value : arguments_) ABSL_RETURN_IF_ERROR(BindArgument(context, value));
    for (int value : outputs_) ABSL_RETURN_IF_ERROR(TakeOutput(context, value));
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const absl::Status status = RunNode(i, budget);
      if (!status.ok()) return Annotate(status, DescribeNode(graph_, i));
    }
    for (int value : outputs_) {
      Place& place = places_[value];
      if (!place.is_copied) continue;
      TensorView from = place.tensor;
      from.strides = DenseStrides(from.sizes, place.order);
      from.data = place.data;
      ABSL_RETURN_IF_ERROR(CopyElementsOfOneDType(from, place.tensor));
    }
    return absl::OkStatus();
  }

  uint64_t ScratchBytes() const override { return scratch_bytes_; }
  OptionValue GetOption(std::string_view name) const override { return threads_.GetOption(name); }
  void SetOption(std::string_view name, const OptionValue& value) override {
    threads_.SetOption(name, value);
  }

 private:
  // Location and sizes of a value in a call.
  struct Place {
    Sizes sizes;
    void* data = nullptr;
    void* own = nullptr;  // memory of the delegate, or the call's working memory
    DimOrder order;       // of the call's tensor
    TensorView tensor;    // for an output: the call's
    bool is_read = false;
    // An output that nodes use, or whose strides differ from the call's; copied at the end.
    bool is_copied = false;
    // Upper bound of |x| in this call; for constants, in each call. Infinity: unknown, or if it is
    // exact, an element is infinite or NaN.
    float magnitude = kInfinity;
    bool magnitude_is_exact = false;
  };

  // --- Initialization ---

  absl::Status AddExternals(const DelegateInitContext& context) {
    for (const Node& node : graph_.nodes) {
      for (int input : node.inputs) {
        if (input >= 0) places_[input].is_read = true;
      }
    }
    // The sizes of the call take precedence, as in ExecuTorch. Some of its files have other sizes
    // in the payload: NHWC for a row-major tensor.
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const Value& value = graph_.values[i];
      Place& place = places_[i];
      place.sizes = value.sizes;
      if (value.output >= 0) outputs_.push_back(static_cast<int>(i));
      if (value.argument < 0) continue;
      arguments_.push_back(static_cast<int>(i));
      const EValue& argument = *context.arguments[value.argument];
      ABSL_ASSIGN_OR_RETURN(place.order, OrderOf(value, value.sizes, argument));
      if (!place.order.empty()) {
        place.sizes = Permuted(argument.get_if<TensorView>()->sizes, place.order);
      }
      const bool empty = std::any_of(place.sizes.begin(), place.sizes.end(),
                                     [](int64_t size) { return size < 1; });
      if (empty || !CheckPlanned(static_cast<int>(i)).ok()) {
        return MismatchError(value, value.sizes, argument);
      }
    }
    ABSL_RETURN_IF_ERROR(ComputeSizes());
    for (int index : outputs_) {
      const Value& value = graph_.values[index];
      Place& place = places_[index];
      const EValue& output = *context.outputs[value.output];
      ABSL_ASSIGN_OR_RETURN(place.order, OrderOf(value, place.sizes, output));
      const TensorView& tensor = *output.get_if<TensorView>();
      if (!place.order.empty() && !(Permuted(tensor.sizes, place.order) == place.sizes)) {
        return MismatchError(value, place.sizes, output);
      }
      place.is_copied =
          place.is_read || !(tensor.strides == DenseStrides(tensor.sizes, place.order));
    }
    return absl::OkStatus();
  }

  // Operators have their own copies of weights.
  bool IsOperand(const Node& node, size_t input) const {
    switch (node.type) {
      case NodeType::FullyConnected:
      case NodeType::Conv2d:
      case NodeType::DepthwiseConv2d:
      case NodeType::ConvTranspose2d:
      case NodeType::PReLU:
        return input == 0;
      default:
        return true;
    }
  }

  absl::Status Allocate(const DelegateInitContext& context) {
    const auto end = static_cast<int64_t>(graph_.nodes.size());
    std::vector<Lifetime> lifetimes(graph_.values.size());
    std::vector<bool> needed(graph_.values.size(), false);
    // Copies of arguments that cannot be read in place are live from the start. Values that are
    // copied to an output are live until the end.
    for (int value : arguments_) needed[value] = true;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      const auto step = static_cast<int64_t>(n) + 1;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] < 0 || !IsOperand(node, i)) continue;
        lifetimes[node.inputs[i]].last = step;
        needed[node.inputs[i]] = true;
      }
      const Value& output = graph_.values[node.output];
      Lifetime& lifetime = lifetimes[node.output];
      lifetime.first = step;
      lifetime.last = output.output >= 0 ? end + 1 : step;
      needed[node.output] = output.output < 0 || places_[node.output].is_copied;
    }
    // Constants persist between calls: a separate plan, all live at once.
    std::vector<Lifetime> constants, results;
    std::vector<int> constant_values;
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const Value& value = graph_.values[i];
      if (!needed[i]) continue;
      lifetimes[i].bytes = Bytes(value, value.sizes) + Operator::kOverread;
      if (value.output >= 0) lifetimes[i].last = end + 1;
      if (value.is_constant) {
        constant_values.push_back(static_cast<int>(i));
        constants.push_back({.bytes = lifetimes[i].bytes});
      } else {
        working_.push_back({.value = static_cast<int>(i)});
      }
    }
    std::sort(working_.begin(), working_.end(), [&](const Working& a, const Working& b) {
      return std::pair(lifetimes[a.value].first, a.value) <
             std::pair(lifetimes[b.value].first, b.value);
    });
    for (const Working& working : working_) results.push_back(lifetimes[working.value]);
    const std::optional<MemoryPlan> kept = PlanMemory(constants), plan = PlanMemory(results);
    if (!kept.has_value() || !plan.has_value()) {
      return absl::ResourceExhaustedError("results of more than 2^64 bytes");
    }
    // Results at their bounds that would exceed the limit follow the sizes of each call.
    if (plan->bytes > context.memory->left()) {
      ABSL_ASSIGN_OR_RETURN(ReservedMemory reserved,
                            ReservedMemory::Create(plan->bytes, working_.size(), *context.memory));
      reserved_.emplace(std::move(reserved));
    } else {
      scratch_bytes_ = plan->bytes;
    }
    for (size_t k = 0; k < working_.size(); ++k) working_[k].offset = plan->offsets[k];
    ABSL_RETURN_IF_ERROR(context.memory->Take(kept->bytes, "constants"));
    ABSL_ASSIGN_OR_RETURN(memory_, AlignedBuffer::Create(kept->bytes, context.memory->allocator()));
    for (size_t k = 0; k < constant_values.size(); ++k) {
      const Value& value = graph_.values[constant_values[k]];
      Place& place = places_[constant_values[k]];
      place.data = place.own = memory_.data() + kept->offsets[k];
      std::memcpy(place.data, value.constant.data(), Bytes(value, value.sizes));
    }
    return absl::OkStatus();
  }

  // Places results and copies in this memory, unless they are there already.
  void UseScratch(std::byte* scratch) {
    if (scratch == scratch_) return;
    scratch_ = scratch;
    for (const Working& working : working_) {
      Place& place = places_[working.value];
      place.data = place.own = scratch + working.offset;
    }
  }

  absl::Status MakeOperators(const DelegateInitContext& context) {
    operators_.reserve(graph_.nodes.size());
    weights_.reserve(graph_.nodes.size());
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      ABSL_RETURN_IF_ERROR(
          context.memory->Take(Operator::Bytes(graph_, node), "operators of the library"));
      absl::StatusOr<Operator> made = Operator::Create(graph_, node);
      if (!made.ok()) return Annotate(made.status(), DescribeNode(graph_, i));
      operators_.push_back(*std::move(made));
      weights_.push_back(WeightMagnitudesOf(graph_, node));
    }
    return absl::OkStatus();
  }

  // --- A call ---

  // Computes the sizes of all values from those of the arguments. After a failure, the next call
  // computes them again.
  absl::Status UpdateSizes(KernelContext& context) {
    bool same = sizes_are_known_;
    sizes_are_known_ = false;
    for (int index : arguments_) {
      Place& place = places_[index];
      const Value& value = graph_.values[index];
      ABSL_ASSIGN_OR_RETURN(const TensorView* tensor, context.Tensor(value.argument));
      if (tensor->dtype != DtypeOf(value.datatype) || tensor->rank() != place.order.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("argument ", value.argument, " is ", tensor->ToString(), ", expected ",
                         DTypeName(DtypeOf(value.datatype)), " of rank ", place.order.size()));
      }
      const Sizes sizes = tensor->rank() == 0 ? value.sizes : Permuted(tensor->sizes, place.order);
      if (sizes == place.sizes) continue;
      same = false;
      place.sizes = sizes;
      ABSL_RETURN_IF_ERROR(CheckPlanned(index));
    }
    if (!same) {
      ABSL_RETURN_IF_ERROR(ComputeSizes());
      ABSL_RETURN_IF_ERROR(TouchResults());
    }
    sizes_are_known_ = true;
    return absl::OkStatus();
  }

  absl::Status ComputeSizes() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      const Sizes* inputs[kMaxInputs];
      const auto computed = OutputSizes(node, InputSizes(node, inputs));
      if (!computed.ok()) return Annotate(computed.status(), DescribeNode(graph_, i));
      places_[node.output].sizes = *computed;
      ABSL_RETURN_IF_ERROR(CheckPlanned(node.output));
    }
    return absl::OkStatus();
  }

  // Charges reserved memory for the current sizes.
  absl::Status TouchResults() {
    if (!reserved_.has_value()) return absl::OkStatus();
    if (reserved_->IsLarge()) reserved_->Discard();
    for (const Working& working : working_) {
      const Value& value = graph_.values[working.value];
      const Sizes& sizes = places_[working.value].sizes;
      const absl::Status status =
          reserved_->Touch(working.offset, Bytes(value, sizes) + Operator::kOverread);
      if (!status.ok()) {
        return Annotate(status, absl::StrCat("value ", value.id, " of sizes ", FormatSizes(sizes)));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckPlanned(int index) const {
    const Value& value = graph_.values[index];
    const Sizes& sizes = places_[index].sizes;
    if (Bytes(value, sizes) <= Bytes(value, value.sizes)) return absl::OkStatus();
    return absl::OutOfRangeError(absl::StrCat("value ", value.id, " would be ", FormatSizes(sizes),
                                              ", planned is at most ", FormatSizes(value.sizes)));
  }

  absl::Span<const Sizes* const> InputSizes(const Node& node,
                                            const Sizes* (&list)[kMaxInputs]) const {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      list[i] = node.inputs[i] < 0 ? nullptr : &places_[node.inputs[i]].sizes;
    }
    return {list, node.inputs.size()};
  }

  // Uses the argument in place if it is dense and the bytes past its end are readable; else copies
  // it.
  absl::Status BindArgument(KernelContext& context, int index) {
    Place& place = places_[index];
    ABSL_ASSIGN_OR_RETURN(const TensorView* tensor, context.Tensor(graph_.values[index].argument));
    const Strides dense = DenseStrides(tensor->sizes, place.order);
    const auto begin = reinterpret_cast<uintptr_t>(tensor->data);
    const uintptr_t last = begin + tensor->nbytes() - 1;
    const size_t alignment = DTypeSize(tensor->dtype);
    if (tensor->strides == dense && begin % alignment == 0 &&
        last / kPageBytes == (last + Operator::kOverread) / kPageBytes) {
      place.data = tensor->data;
      return absl::OkStatus();
    }
    place.data = place.own;
    const TensorView copy{tensor->dtype, tensor->sizes, dense, place.own};
    return CopyElementsOfOneDType(*tensor, copy);
  }

  absl::Status TakeOutput(KernelContext& context, int index) {
    Place& place = places_[index];
    const Sizes sizes = place.order.empty() ? Sizes() : Unpermuted(place.sizes, place.order);
    ABSL_ASSIGN_OR_RETURN(const TensorView* tensor,
                          context.Output(graph_.values[index].output, sizes));
    place.tensor = *tensor;
    place.data = place.is_copied ? place.own : tensor->data;
    if (place.is_copied || tensor->strides == DenseStrides(sizes, place.order)) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat("output ", graph_.values[index].output, " is ",
                                                   tensor->ToString(),
                                                   ", expected the order that it was loaded with"));
  }

  static void ForgetMagnitude(Place& place) {
    place.magnitude = kInfinity;
    place.magnitude_is_exact = false;
  }

  // Returns a bound from the known bounds of the operands. With `look`, computes unknown ones from
  // the operands' elements.
  float MagnitudeOfResult(size_t index, const Operands& operands, bool look = false) {
    const Node& node = graph_.nodes[index];
    float bounds[kMaxInputs];
    size_t count = 0;
    for (size_t i = 0; i < node.inputs.size() && IsOperand(node, i); ++i) {
      Place& place = places_[node.inputs[i]];
      if (graph_.values[node.inputs[i]].datatype != Datatype::FP32) return kInfinity;
      if (look && !place.magnitude_is_exact) {
        place.magnitude = LargestMagnitude(place.data, *NumElements(place.sizes));
        place.magnitude_is_exact = true;
      }
      bounds[count++] = place.magnitude;
    }
    return ResultMagnitude(node, weights_[index], {bounds, count}, operands);
  }

  // Error for an operand without elements if the result has some. Concatenations permit it.
  absl::Status CheckElements(const Node& node) const {
    if (IsConcatenation(node.type)) return absl::OkStatus();
    for (int input : node.inputs) {
      if (input < 0 || NumElements(places_[input].sizes) != 0) continue;
      const Value& value = graph_.values[input];
      return absl::UnimplementedError(absl::StrCat(
          value.argument >= 0 ? absl::StrCat("argument ", value.argument, " of the delegate")
                              : absl::StrCat("value ", value.id),
          " of sizes ", FormatSizes(places_[input].sizes), " has no elements, the result of sizes ",
          FormatSizes(places_[node.output].sizes),
          " has some; call with at least one element, or lower without this backend"));
    }
    return absl::OkStatus();
  }

  // A result without elements needs no computation.
  absl::Status RunNode(size_t index, Budget& budget) {
    const Node& node = graph_.nodes[index];
    if (NumElements(places_[node.output].sizes) == 0) return absl::OkStatus();
    ABSL_RETURN_IF_ERROR(CheckElements(node));
    const Sizes* sizes[kMaxInputs];
    const void* inputs[kMaxInputs] = {};
    Operands operands{.sizes = InputSizes(node, sizes),
                      .inputs = absl::MakeConstSpan(inputs, node.inputs.size()),
                      .output_sizes = &places_[node.output].sizes,
                      .output = places_[node.output].data,
                      .threads = library_pool_};
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] >= 0) inputs[i] = places_[node.inputs[i]].data;
    }
    ABSL_RETURN_IF_ERROR(
        budget.TakeInstruction(WorkOf(node, operands.sizes, *operands.output_sizes)));
    const int64_t begin = events_.Begin();
    const bool loses_nan = LosesNan(graph_, node);
    float magnitude = MagnitudeOfResult(index, operands);
    if (loses_nan && magnitude == kInfinity) magnitude = MagnitudeOfResult(index, operands, true);
    ABSL_RETURN_IF_ERROR(operators_[index].Run(node, operands));
    if (loses_nan && magnitude == kInfinity) RestoreNan(graph_, node, operands);
    places_[node.output].magnitude = magnitude;
    events_.Step({.id = node.debug_handle}, begin);
    return absl::OkStatus();
  }

  // A value in the call's working memory.
  struct Working {
    int value = 0;
    uint64_t offset = 0;
  };

  Graph graph_;
  std::vector<Place> places_;              // by value
  std::vector<Operator> operators_;        // by node
  std::vector<WeightMagnitudes> weights_;  // by node
  std::vector<int> arguments_, outputs_;   // values
  int num_arguments_, num_outputs_;
  AlignedBuffer memory_;  // constants that nodes use
  std::vector<Working> working_;
  uint64_t scratch_bytes_ = 0;
  std::optional<ReservedMemory> reserved_;  // instead of scratch, if that would be too large
  std::byte* scratch_ = nullptr;            // current address of the `working_` values
  DelegateThreads threads_;
  pthreadpool_t library_pool_;  // null: only the calling thread
  EventSink events_;
  bool sizes_are_known_ = true;  // initially the maximum sizes
};

}  // namespace

BackendOptionTable XnnpackRuntime::options() const { return ThreadsOptionTable(); }

absl::StatusOr<std::unique_ptr<DelegateHandle>> XnnpackRuntime::Init(
    const DelegateInitContext& context, absl::Span<const std::byte> blob) const {
  ABSL_RETURN_IF_ERROR(InitializeLibrary());
  ABSL_ASSIGN_OR_RETURN(Graph graph,
                        ReadGraph(blob, *context.named_data, context.arguments.size(),
                                  context.outputs.size(), kLibrarySupport, *context.memory));
  return XnnpackHandle::Create(context, std::move(graph));
}

}  // namespace belay::xnnpack
