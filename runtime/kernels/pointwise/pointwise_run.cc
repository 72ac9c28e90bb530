#include "runtime/kernels/pointwise/pointwise_run.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernels/element_copy/convert_run.h"
#include "runtime/kernels/element_copy/run_source.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/operands/strided_view.h"
#include "runtime/kernels/pointwise/broadcast_run.h"

namespace belay {
namespace {

constexpr int64_t kLongGroup = 64;  // long enough for a separate loop call

// Whether the operation changes at most the sign, so that its loops need no conversion.
bool ChangesSign(PointwiseOp op) { return op == PointwiseOp::kAbs || op == PointwiseOp::kNeg; }

// Element type in which the loop for a dtype computes.
DType LoopType(PointwiseOp op, DType compute) {
  if (IsHalf(compute)) return ChangesSign(op) ? compute : DType::kFloat32;
  return compute == DType::kBool ? DType::kUint8 : compute;
}

// Source of one operand of a loop.
class OperandSource {
 public:
  void Init(const PointwiseOperand& operand, const Sizes& sizes, DType to, DType round_to) {
    source_ = RunSource(ElementData(operand), ElementDType(operand), sizes,
                        BroadcastStrides(operand, sizes), to);
    to_ = to;
    round_to_ = round_to;
    single_ = IsSingle(operand);
  }

  bool single() const { return single_; }
  // Whether each group is read in place.
  bool in_place() const { return !single_ && round_to_ == to_ && source_.in_place(); }
  int64_t group() const { return source_.group(); }

  // Fills the buffer with the single element.
  void FillSingle(int64_t count, RunStorage& buffer) {
    FillRun(Next(1, buffer), count, DTypeSize(to_), buffer.bytes);
  }

  const void* Next(int64_t n, RunStorage& buffer) {
    const void* run = source_.Next(n, buffer);
    if (round_to_ == to_) return run;
    RunStorage rounded;
    ConvertRun(to_, run, round_to_, rounded.bytes, static_cast<size_t>(n));
    ConvertRun(round_to_, rounded.bytes, to_, buffer.bytes, static_cast<size_t>(n));
    return buffer.bytes;
  }

 private:
  RunSource source_;
  DType to_ = DType::kFloat32, round_to_ = DType::kFloat32;
  bool single_ = false;
};

}  // namespace

VectorLoop FindLoopFor(PointwiseOp op, DType compute) {
  return FindLoop(op, LoopType(op, compute));
}

namespace {

// Whether the call adds, subtracts or negates complex64 tensors: the parts are computed as floats.
bool IsOfPairs(const PointwiseRequest& request) {
  for (int k = 0; k < request.call.count; ++k) {
    const TensorView* tensor = request.call.operands[k].tensor;
    if (tensor == nullptr || tensor->dtype != DType::kComplex64 || tensor->rank() >= kMaxRank) {
      return false;
    }
  }
  return request.op == PointwiseOp::kAdd || request.op == PointwiseOp::kSub ||
         request.op == PointwiseOp::kNeg;
}

}  // namespace

bool SupportsRequest(const PointwiseRequest& request, DType out) {
  const PromotedTypes& types = request.call.types;
  if (IsOfPairs(request)) return out == DType::kComplex64;
  if (out != types.result || !kRunTypes.contains(out) ||
      FindLoopFor(request.op, types.compute) == nullptr) {
    return false;
  }
  for (int k = 0; k < request.call.count; ++k) {
    if (!kRunTypes.contains(ElementDType(request.call.operands[k]))) return false;
  }
  return true;
}

void SetDense(PointwiseRequest& request) {
  const PointwiseOperands<KernelArguments>& call = request.call;
  for (int k = 0; k < call.count; ++k) {
    const TensorView* tensor = call.operands[k].tensor;
    if (tensor == nullptr || tensor->dtype != DType::kFloat32) return;
  }
  if (call.count > 2 || IsComparison(request.op) != (call.types.result == DType::kBool)) return;
  request.dense = FindLoop(request.op, DType::kFloat32);
}

namespace {

// Returns the planned or current result of a dense call, if all operands have the same gap-free
// layout; else nullptr.
const TensorView* DenseResult(const KernelContext& context, const PointwiseRequest& request) {
  if (request.dense == nullptr) return nullptr;
  const TensorView& first = *request.call.operands[0].tensor;
  if (request.call.count == 2) {
    const TensorView& second = *request.call.operands[1].tensor;
    if (!(second.sizes == first.sizes) || !(second.strides == first.strides)) return nullptr;
  }
  const TensorView* out = context.output_slot(0)->get_if<TensorView>();
  // is_contiguous() is cheaper, and mostly true.
  if (out == nullptr || out->dtype != request.call.types.result ||
      !(first.is_contiguous() || IsDense(first.sizes, first.strides))) {
    return nullptr;
  }
  return out;
}

PointwiseRequest::Places PlacesOf(const PointwiseRequest& request, const TensorView& out) {
  PointwiseRequest::Places places = {
      .loop = request.dense, .to = out.data, .count = static_cast<size_t>(out.numel())};
  for (int k = 0; k < request.call.count; ++k) {
    places.from[k] = request.call.operands[k].tensor->data;
  }
  return places;
}

double WorkOf(size_t count) { return kElementWork * static_cast<double>(count); }

// Returns the places of a call of single elements that have the loop's type, like the counter of a
// loop; nullopt for another call.
std::optional<PointwiseRequest::Places> SinglePlaces(const PointwiseRequest& request,
                                                     const TensorView& out) {
  const DType compute = request.call.types.compute;
  if (request.call.count > 2 || LoopType(request.op, compute) != compute || out.numel() != 1 ||
      out.dtype != (IsComparison(request.op) ? DType::kBool : compute)) {
    return std::nullopt;
  }
  PointwiseRequest::Places places = {
      .loop = FindLoopFor(request.op, compute), .to = out.data, .count = 1};
  for (int k = 0; k < request.call.count; ++k) {
    const PointwiseOperand& operand = request.call.operands[k];
    if (!IsSingle(operand) || ElementDType(operand) != compute) return std::nullopt;
    places.from[k] = ElementData(operand);
  }
  if (places.loop == nullptr) return std::nullopt;
  return places;
}

}  // namespace

bool PointwiseRequest::Fix(const KernelContext& context) {
  const TensorView* out = DenseResult(context, *this);
  if (out == nullptr) {
    out = context.output_slot(0)->get_if<TensorView>();
    const auto places = out == nullptr ? std::nullopt : SinglePlaces(*this, *out);
    if (places.has_value()) fixed = *places;
    return places.has_value();
  }
  const TensorView& first = *call.operands[0].tensor;
  if (!(out->sizes == first.sizes) || !(out->strides == first.strides)) return false;
  fixed = PlacesOf(*this, *out);
  return context.num_threads() == 1 || WorkOf(fixed.count) < kLeastWork;
}

absl::StatusOr<bool> RunDense(KernelContext& context, const PointwiseRequest& request) {
  const TensorView* out = DenseResult(context, request);
  if (out == nullptr) return false;
  const TensorView& first = *request.call.operands[0].tensor;
  ABSL_ASSIGN_OR_RETURN(out, context.Output(0, first.sizes));
  if (!(out->strides == first.strides)) return false;
  const PointwiseRequest::Places places = PlacesOf(request, *out);
  const auto bytes = static_cast<int64_t>(DTypeSize(out->dtype));
  const auto run = [&](int, int64_t begin, int64_t end) {
    const void* from[2] = {};
    for (int k = 0; k < request.call.count; ++k) {
      from[k] = static_cast<const float*>(places.from[k]) + begin;
    }
    request.dense(from, static_cast<std::byte*>(places.to) + begin * bytes,
                  static_cast<size_t>(end - begin), request.params);
  };
  const auto count = static_cast<int64_t>(places.count);
  if (context.num_threads() == 1) {
    run(0, 0, count);
  } else {
    // Whole cache lines, also for bools.
    RunRanges(context, count, /*step=*/64, WorkOf(places.count), run);
  }
  return true;
}

namespace {

// Whether the result is gap-free and all operands of more than one element have its layout.
// Elements can then be processed in memory order.
bool AreDenseInOneOrder(const PointwiseOperands<KernelArguments>& call, const TensorView& out) {
  for (int k = 0; k < call.count; ++k) {
    const TensorView* tensor = call.operands[k].tensor;
    if (IsSingle(call.operands[k])) continue;
    if (!(tensor->sizes == out.sizes) || !(tensor->strides == out.strides)) return false;
  }
  return out.is_contiguous() || IsDense(out.sizes, out.strides);
}

// Returns `count` elements from index `first` on, in memory order.
TensorView Part(const TensorView& tensor, int64_t first, int64_t count) {
  TensorView part = tensor;
  part.sizes = Sizes{count};
  part.strides = Strides{1};
  part.data = tensor.as<std::byte>() + first * static_cast<int64_t>(DTypeSize(tensor.dtype));
  return part;
}

// Computes at most kRunBufferLength elements of halves with a loop of floats.
void RunHalves(const PointwiseRequest& request, VectorLoop loop, const void* const* operands,
               void* result, size_t n) {
  const DType compute = request.call.types.compute;
  RunStorage floats[kMaxOperands], results;
  const void* from[kMaxOperands];
  for (int k = 0; k < request.call.count; ++k) {
    if (request.op == PointwiseOp::kWhere && k == 0) {
      from[k] = operands[k];
      continue;
    }
    LoadFloats(compute, operands[k], n, reinterpret_cast<float*>(floats[k].bytes));
    from[k] = floats[k].bytes;
  }
  if (IsComparison(request.op)) return loop(from, result, n, request.params);
  loop(from, results.bytes, n, request.params);
  StoreFloats(reinterpret_cast<const float*>(results.bytes), n, compute, result);
}

// Computes a call by BroadcastRun. Returns false if an operand of several elements or the result
// has another type than the loop (or halves), or if the result is not dense.
bool RunBroadcast(const KernelContext& context, const PointwiseRequest& request, VectorLoop loop,
                  const TensorView& out) {
  const DType compute = request.call.types.compute;
  // Truth values are converted to bytes that are 0 or 1 first.
  const bool where = request.op == PointwiseOp::kWhere;
  // Halves are converted to floats in blocks.
  const bool halves = LoopType(request.op, compute) == DType::kFloat32 && IsHalf(compute);
  const int last = request.call.count - 1;
  if (halves && request.exact_last && IsSingle(request.call.operands[last])) return false;
  if ((!halves && LoopType(request.op, compute) != compute) ||
      out.dtype != (IsComparison(request.op) ? DType::kBool : compute)) {
    return false;
  }
  BroadcastRun run;
  RunStorage scalars[kMaxOperands];
  for (int k = 0; k < request.call.count; ++k) {
    const PointwiseOperand& operand = request.call.operands[k];
    const void* data = ElementData(operand);
    const bool mask = where && k == 0;  // any byte other than 0 is true
    const DType type = mask ? DType::kBool : compute;
    if (ElementDType(operand) != type) {
      // A scalar or a tensor of one element is converted once. With halves, it is rounded.
      if (!IsSingle(operand) || halves) return false;
      RunSource source(data, ElementDType(operand), Sizes{1}, Strides{0}, type);
      const void* element = source.Next(1, scalars[k]);
      if (element != scalars[k].bytes) std::memcpy(scalars[k].bytes, element, DTypeSize(type));
      data = scalars[k].bytes;
    }
    run.Add({data, static_cast<int64_t>(DTypeSize(type)), BroadcastStrides(operand, out.sizes)});
  }
  if (!run.Plan(out)) return false;
  if (halves) {
    run.Run(context, kElementWork, /*most=*/kRunBufferLength,
            [&](int, const void* const* operands, void* result, size_t n) {
              RunHalves(request, loop, operands, result, n);
            });
    return true;
  }
  const int scalar = run.RowScalar();
  const RowsLoop rows_loop = scalar == -1 ? nullptr : FindRowsLoop(request.op, compute, scalar);
  if (rows_loop != nullptr) {
    run.RunRowsInPlace(
        context, kElementWork,
        [&](int, const void* const* operands, const int64_t* steps, void* result, size_t rows,
            size_t n) { rows_loop(operands, steps, result, rows, n, request.params); });
    return true;
  }
  run.Run(context, kElementWork, /*most=*/out.numel(),
          [&](int, const void* const* operands, void* result, size_t n) {
            loop(operands, result, n, request.params);
          });
  return true;
}

// Computes the call for `inputs`, which broadcast to the result's sizes. The result is not empty.
void RunOperands(const PointwiseRequest& request, const PointwiseOperand* inputs, VectorLoop loop,
                 const TensorView& out) {
  const DType compute = request.call.types.compute;
  const int64_t total = out.numel();
  const DType type = LoopType(request.op, compute);
  // Comparison loops write bytes already.
  const DType made = IsComparison(request.op) ? DType::kBool : type;
  RunStorage buffers[kMaxOperands], result;
  OperandSource sources[kMaxOperands];
  const int count = request.call.count;
  RunSink sink(out.data, out.dtype, out.sizes, out.strides, made);
  bool in_place = sink.in_place();  // no operand needs a buffer
  PointwiseParams params = request.params;
  for (int k = 0; k < count; ++k) {
    const PointwiseOperand& operand = inputs[k];
    const bool mask = request.op == PointwiseOp::kWhere && k == 0;
    const bool as_bool = mask || compute == DType::kBool;
    const bool exact = request.exact_last && IsHalf(compute) && k == count - 1 && IsSingle(operand);
    // Quotients by such an operand are rounded once.
    const bool quotient =
        request.op == PointwiseOp::kFloorDiv || request.op == PointwiseOp::kTruncDiv;
    if (exact && quotient) params = PointwiseParams();
    // Rounds to the common dtype if the operand has another one.
    const bool rounds = !mask && IsHalf(compute) && ElementDType(operand) != compute && !exact;
    const DType to = as_bool ? DType::kBool : type;
    sources[k].Init(operand, out.sizes, to, rounds ? compute : to);
    if (sources[k].single() && total > 1)
      sources[k].FillSingle(std::min(kRunBufferLength, total), buffers[k]);
    in_place = in_place && sources[k].in_place();
  }
  const void* operands[kMaxOperands];
  for (int64_t left = total; left > 0;) {
    // Length that is contiguous in all operands, unless it is too short.
    int64_t group = sink.group();
    for (int k = 0; k < count; ++k) {
      if (!sources[k].single()) group = std::min(group, sources[k].group());
    }
    int64_t n = in_place ? left : std::min(left, kRunBufferLength);
    n = group >= std::min(kLongGroup, n) ? std::min(n, group) : std::min(n, kRunBufferLength);
    for (int k = 0; k < count; ++k) {
      operands[k] =
          sources[k].single() && total > 1 ? buffers[k].bytes : sources[k].Next(n, buffers[k]);
    }
    loop(operands, sink.Place(n, result), static_cast<size_t>(n), params);
    sink.Commit(n, result);
    left -= n;
  }
}

// Computes a request of IsOfPairs.
absl::Status RunPairs(const KernelContext& context, PointwiseRequest request, TensorView out) {
  TensorView pairs[2];
  request.call.types.compute = DType::kFloat32;
  for (int k = 0; k < request.call.count; ++k) {
    PointwiseOperand& operand = request.call.operands[k];
    pairs[k] = PairsOf(*operand.tensor);
    operand = {nullptr, &pairs[k], DType::kFloat32};
  }
  out = PairsOf(out);
  const VectorLoop loop = FindLoop(request.op, DType::kFloat32);
  if (!RunBroadcast(context, request, loop, out)) {
    RunOperands(request, request.call.operands, loop, out);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunRequest(KernelContext& context, const PointwiseRequest& request) {
  const PointwiseOperands<KernelArguments>& call = request.call;
  if (IsOfPairs(request)) {
    ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
    ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(shape));
    ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, sizes));
    if (out->rank() >= kMaxRank) {
      return absl::InternalError("the call changed after the kernel was chosen");
    }
    return out->numel() == 0 ? absl::OkStatus() : RunPairs(context, request, *out);
  }
  const VectorLoop loop = FindLoopFor(request.op, call.types.compute);
  ABSL_ASSIGN_OR_RETURN(const TensorView* planned, context.PlannedOutput(0));
  if (loop == nullptr || !SupportsRequest(request, planned->dtype)) {
    return absl::InternalError("the call changed after the kernel was chosen");
  }
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(shape));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, sizes));
  const int64_t total = out->numel();
  if (total == 0) return absl::OkStatus();
  if (const auto places = SinglePlaces(request, *out); places.has_value()) {
    places->loop(places->from, places->to, 1, request.params);
    return absl::OkStatus();
  }
  if (total > 1 && RunBroadcast(context, request, loop, *out)) return absl::OkStatus();
  if (total == 1 || !AreDenseInOneOrder(call, *out)) {
    RunOperands(request, call.operands, loop, *out);
    return absl::OkStatus();
  }
  // Whole cache lines, also for bools.
  RunRanges(context, total, /*step=*/64, WorkOf(static_cast<size_t>(total)),
            [&](int, int64_t first, int64_t last) {
              TensorView parts[kMaxOperands];
              PointwiseOperand operands[kMaxOperands];
              for (int k = 0; k < call.count; ++k) {
                operands[k] = call.operands[k];
                const TensorView* tensor = operands[k].tensor;
                if (tensor == nullptr) continue;
                parts[k] = IsSingle(operands[k]) ? Part(*tensor, 0, 1)
                                                 : Part(*tensor, first, last - first);
                operands[k].tensor = &parts[k];
              }
              RunOperands(request, operands, loop, Part(*out, first, last - first));
            });
  return absl::OkStatus();
}

}  // namespace belay
