#include "runtime/kernels/operands/pointwise.h"

#include <algorithm>

#include "absl/status/status.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay {

DType ElementDType(const PointwiseOperand& operand) {
  if (operand.tensor != nullptr) return operand.tensor->dtype;
  return operand.dtype == DType::kFloat32     ? DType::kFloat64
         : operand.dtype == DType::kComplex64 ? DType::kComplex128
                                              : operand.dtype;
}

const void* ElementData(const PointwiseOperand& operand) {
  if (operand.tensor != nullptr) return operand.tensor->data;
  if (const int64_t* integer = operand.value->get_if<int64_t>()) return integer;
  if (const double* real = operand.value->get_if<double>()) return real;
  if (const bool* boolean = operand.value->get_if<bool>()) return boolean;
  return operand.value->get_if<std::complex<double>>();
}

bool IsSingle(const PointwiseOperand& operand) {
  if (operand.tensor == nullptr) return true;
  const Sizes& sizes = operand.tensor->sizes;
  return std::all_of(sizes.begin(), sizes.end(), [](int64_t s) { return s == 1; });
}

Strides BroadcastStrides(const PointwiseOperand& operand, const Sizes& sizes) {
  Strides result(sizes.size(), int64_t{0});
  if (operand.tensor == nullptr) return result;
  const Sizes& own = operand.tensor->sizes;
  const int lead = sizes.size() - own.size();
  for (int d = 0; d < own.size(); ++d) {
    result[lead + d] = own[d] == 1 ? 0 : operand.tensor->strides[d];
  }
  return result;
}

GluHalves::GluHalves(const GluCall<KernelArguments>& glu) : halves{*glu.self, *glu.self} {
  const TensorView& self = *glu.self;
  for (TensorView& half : halves) half.sizes[glu.dim] /= 2;
  if (self.data != nullptr && self.numel() > 0) {
    halves[1].data = self.as<std::byte>() +
                     static_cast<size_t>(halves[0].sizes[glu.dim] * self.strides[glu.dim]) *
                         DTypeSize(self.dtype);
  }
  for (const TensorView& half : halves) call.Append({nullptr, &half, self.dtype});
  call.types = glu.types;
}

absl::StatusOr<IntegerBounds> CutBounds(const EValue& low, const EValue& high, DType dtype) {
  IntegerBounds bounds;
  for (int k = 0; k < 2; ++k) {
    EValue& bound = k == 0 ? bounds.low : bounds.high;
    ABSL_ASSIGN_OR_RETURN(bound, ConvertScalar(k == 0 ? low : high, DType::kInt64));
    if (dtype == DType::kUint8 && *bound.get_if<int64_t>() < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(k == 0 ? "min_val" : "max_val", ": expected a nonnegative bound for uint8"));
    }
  }
  return bounds;
}

void PointwiseParams::Set(int k, const EValue& value) {
  if (const int64_t* integer = value.get_if<int64_t>()) {
    integer_[k] = *integer;
    complex_[k] = static_cast<double>(*integer);
  } else if (const bool* boolean = value.get_if<bool>()) {
    integer_[k] = *boolean ? 1 : 0;
    complex_[k] = *boolean ? 1 : 0;
  } else if (const double* real = value.get_if<double>()) {
    integer_[k] = ConvertElement<int64_t>(*real);
    complex_[k] = *real;
  } else if (const std::complex<double>* complex = value.get_if<std::complex<double>>()) {
    integer_[k] = ConvertElement<int64_t>(*complex);
    complex_[k] = *complex;
  }
}

absl::Status RunPointwise(KernelContext& context, const PointwiseOperands<KernelArguments>& call,
                          const LoopTable& table, const PointwiseParams& params, bool exact_last) {
  ABSL_CHECK(call.count == table.operands);
  const PromotedTypes& types = call.types;
  const ComputeClass type = ComputeClassOf(types.compute);
  const LoopTable::Entry entry = table.entries[static_cast<int>(type)];
  if (entry.loop == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("dtype ", DTypeName(types.compute), " is not supported"));
  }

  for (int k = 0; k < call.count; ++k) {
    if (call.operands[k].dtype == DType::kComplex32)
      return absl::InvalidArgumentError("dtype complex32 is not supported");
  }
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(shape));
  ABSL_ASSIGN_OR_RETURN(TensorView * output, context.Output(0, sizes));
  if (output->dtype != types.result) {
    return absl::InvalidArgumentError(absl::StrCat(
        "output 0: expected dtype ", DTypeName(types.result), ", got ", DTypeName(output->dtype)));
  }

  RunCursor cursors[kMaxOperands];
  bool narrow[kMaxOperands] = {};
  const bool half = types.compute == DType::kFloat16 || types.compute == DType::kBFloat16;
  for (int k = 0; k < call.count; ++k) {
    const PointwiseOperand& operand = call.operands[k];
    cursors[k] = RunCursor(sizes, BroadcastStrides(operand, sizes));
    narrow[k] = ElementDType(operand) != types.compute &&
                !(exact_last && half && k == call.count - 1 && IsSingle(operand));
  }
  RunCursor out_cursor(output->sizes, output->strides);
  const int64_t total = output->numel();
  RunBuffer runs[kMaxOperands];
  RunBuffer out;
  for (int64_t done = 0; done < total; done += kRunLength) {
    const int n = static_cast<int>(std::min<int64_t>(kRunLength, total - done));
    for (int k = 0; k < call.count; ++k) {
      const PointwiseOperand& operand = call.operands[k];
      LoadRun(cursors[k], ElementData(operand), ElementDType(operand), type, n, runs[k]);
      if (narrow[k]) NarrowRun(runs[k], type, types.compute, n);
    }
    if (!entry.loop(runs, out, n, params))
      return absl::InvalidArgumentError("integer division by zero");
    StoreRun(out, entry.out, n, out_cursor, output->data, output->dtype);
  }
  return absl::OkStatus();
}

}  // namespace belay
