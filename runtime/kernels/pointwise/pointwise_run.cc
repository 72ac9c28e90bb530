#include "runtime/kernels/pointwise/pointwise_run.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/shape_rules/broadcast.h"
#include "runtime/kernels/elements/convert_run.h"
#include "runtime/kernels/elements/run_source.h"

namespace belay {
namespace {

constexpr int64_t kLongGroup = 64;  // worth a call of the loop of its own

bool IsHalf(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

// The type of element with which the loop for a dtype computes.
DType LoopType(DType compute) {
  if (IsHalf(compute)) return DType::kFloat32;
  return compute == DType::kBool ? DType::kUint8 : compute;
}

bool IsSingle(const Sizes& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [](int64_t s) { return s == 1; });
}

Strides BroadcastStrides(const Sizes& own, const Strides& strides, const Sizes& sizes) {
  Strides result(sizes.size(), int64_t{0});
  const int lead = sizes.size() - own.size();
  for (int d = 0; d < own.size(); ++d) result[lead + d] = own[d] == 1 ? 0 : strides[d];
  return result;
}

// One operand on its way to a loop.
class OperandSource {
 public:
  void Init(const PointwiseCall::Operand& operand, const Sizes& sizes, DType to, DType round_to) {
    const void* data = operand.number ? operand.inline_value : operand.data;
    source_ = RunSource(data, operand.dtype, sizes,
                        BroadcastStrides(operand.sizes, operand.strides, sizes), to);
    to_ = to;
    round_to_ = round_to;
    single_ = IsSingle(operand.sizes);
  }

  bool single() const { return single_; }
  // Whether each group is read where it lies.
  bool in_place() const { return !single_ && round_to_ == to_ && source_.in_place(); }
  int64_t group() const { return source_.group(); }

  // Fills the buffer with the one element.
  void FillSingle(int64_t count, RunStorage& buffer) {
    const int64_t bytes = static_cast<int64_t>(DTypeSize(to_));
    const void* element = Next(1, buffer);
    if (element != buffer.bytes) std::memcpy(buffer.bytes, element, static_cast<size_t>(bytes));
    for (int64_t done = 1; done < count;) {
      const int64_t n = std::min(done, count - done);
      std::memcpy(buffer.bytes + done * bytes, buffer.bytes, static_cast<size_t>(n * bytes));
      done += n;
    }
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

VectorLoop FindLoopFor(PointwiseOp op, DType compute) { return FindLoop(op, LoopType(compute)); }

bool TakesRequest(const PointwiseRequest& request, DType out) {
  if (out != request.types.result || !kRunTypes.contains(out) ||
      FindLoopFor(request.op, request.types.compute) == nullptr) {
    return false;
  }
  for (int k = 0; k < request.call.num_operands(); ++k) {
    if (!kRunTypes.contains(request.call.operand(k).dtype)) return false;
  }
  return true;
}

absl::Status RunRequest(KernelContext& context, const PointwiseRequest& request) {
  const PointwiseCall& call = request.call;
  const DType compute = request.types.compute;
  const VectorLoop loop = FindLoopFor(request.op, compute);
  ABSL_ASSIGN_OR_RETURN(const TensorView* planned, context.PlannedOutput(0));
  if (loop == nullptr || !TakesRequest(request, planned->dtype)) {
    return absl::InternalError("the call changed after the kernel was chosen");
  }
  Dims<CheckedInt> shape;
  for (int k = 0; k < call.num_operands(); ++k) {
    ABSL_ASSIGN_OR_RETURN(shape, BroadcastShape<CheckedInt>(shape, ToDims(call.operand(k).sizes)));
  }
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(shape));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, sizes));
  const int64_t total = out->numel();
  if (total == 0) return absl::OkStatus();

  const DType type = LoopType(compute);
  // Truth values are bytes already.
  const DType made = IsComparison(request.op) ? DType::kBool : type;
  RunStorage buffers[kMaxOperands], result;
  OperandSource sources[kMaxOperands];
  const int count = call.num_operands();
  RunSink sink(out->data, out->dtype, out->sizes, out->strides, made);
  bool in_place = sink.in_place();  // nothing passes through buffers
  for (int k = 0; k < count; ++k) {
    const PointwiseCall::Operand& operand = call.operand(k);
    const bool mask = request.op == PointwiseOp::kWhere && k == 0;
    const bool as_bool = mask || compute == DType::kBool;
    const bool exact =
        request.exact_last && IsHalf(compute) && k == count - 1 && IsSingle(operand.sizes);
    // Rounded to the common dtype where it is another one.
    const bool rounds = !mask && IsHalf(compute) && operand.dtype != compute && !exact;
    const DType to = as_bool ? DType::kBool : type;
    sources[k].Init(operand, sizes, to, rounds ? compute : to);
    if (sources[k].single() && total > 1)
      sources[k].FillSingle(std::min(kRunBufferLength, total), buffers[k]);
    in_place = in_place && sources[k].in_place();
  }
  const void* operands[kMaxOperands];
  for (int64_t left = total; left > 0;) {
    // As much as lies together in all operands, unless that is little.
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
    loop(operands, sink.Place(n, result), static_cast<size_t>(n), request.params);
    sink.Commit(n, result);
    left -= n;
  }
  return absl::OkStatus();
}

}  // namespace belay
