#include "runtime/kernels/call/pointwise.h"

#include <cstring>

#include "absl/status/status.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/shape_rules/broadcast.h"

namespace belay {
namespace {

// The strides of an operand as one of `sizes`, to which its own sizes broadcast.
Strides BroadcastStrides(const Sizes& own, const Strides& strides, const Sizes& sizes) {
  Strides result(sizes.size(), int64_t{0});
  const int lead = sizes.size() - own.size();
  for (int d = 0; d < own.size(); ++d) result[lead + d] = own[d] == 1 ? 0 : strides[d];
  return result;
}

bool IsSingle(const Sizes& sizes) {
  for (int64_t s : sizes) {
    if (s != 1) return false;
  }
  return true;
}

}  // namespace

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

PointwiseCall::Operand& PointwiseCall::Append(const TensorView& tensor) {
  ABSL_CHECK(count_ < kMaxOperands);
  Operand& operand = operands_[count_++];
  operand.sizes = tensor.sizes;
  operand.strides = tensor.strides;
  operand.dtype = tensor.dtype;
  operand.data = tensor.data;
  return operand;
}

absl::Status PointwiseCall::Add(const KernelContext& context, int i) {
  if (const TensorView* tensor = context.argument(i).get_if<TensorView>()) {
    AddTensor(*tensor);
    return absl::OkStatus();
  }
  const EValue& value = context.argument(i);
  if (!value.is_number()) {
    return absl::InvalidArgumentError(
        absl::StrCat("argument ", i, ": expected tensor or number, got ", value.KindName()));
  }
  ABSL_RETURN_IF_ERROR(PromoteWith(value));
  ABSL_CHECK(count_ < kMaxOperands);
  Operand& operand = operands_[count_++];
  operand.number = true;
  const auto store = [&](DType dtype, const auto& element) {
    operand.dtype = dtype;
    std::memcpy(operand.inline_value, &element, sizeof(element));
  };
  if (const int64_t* integer = value.get_if<int64_t>()) store(DType::kInt64, *integer);
  if (const double* real = value.get_if<double>()) store(DType::kFloat64, *real);
  if (const bool* boolean = value.get_if<bool>()) store(DType::kBool, *boolean);
  if (const auto* complex = value.get_if<std::complex<double>>())
    store(DType::kComplex128, *complex);
  return absl::OkStatus();
}

void PointwiseCall::AddTensor(const TensorView& tensor) {
  Append(tensor);
  promotion_.AddTensor(tensor.dtype, tensor.rank());
}

void PointwiseCall::AddMask(const TensorView& tensor) { Append(tensor); }

absl::Status PointwiseCall::PromoteWith(const EValue& value) {
  const std::optional<DType> category = ScalarCategory(value);
  if (!category.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("expected a number, got ", value.KindName()));
  }
  promotion_.AddScalar(*category);
  return absl::OkStatus();
}

absl::Status PointwiseCall::Execute(KernelContext& context, const PromotedTypes& types,
                                    const LoopTable& table, const PointwiseParams& params,
                                    bool exact_last) {
  ABSL_CHECK(count_ == table.operands);
  const ComputeClass type = ComputeClassOf(types.compute);
  const LoopTable::Entry entry = table.entries[static_cast<int>(type)];
  if (entry.loop == nullptr || types.compute == DType::kComplex32) {
    return absl::InvalidArgumentError(
        absl::StrCat("dtype ", DTypeName(types.compute), " is not supported"));
  }

  Dims<CheckedInt> shape;
  for (int k = 0; k < count_; ++k) {
    if (operands_[k].dtype == DType::kComplex32)
      return absl::InvalidArgumentError("dtype complex32 is not supported");
    const Dims<CheckedInt> own = ToDims(operands_[k].sizes);
    ABSL_ASSIGN_OR_RETURN(shape, BroadcastShape<CheckedInt>(shape, own));
  }
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(shape));
  ABSL_ASSIGN_OR_RETURN(TensorView * output, context.Output(0, sizes));
  if (output->dtype != types.result) {
    return absl::InvalidArgumentError(absl::StrCat(
        "output 0: expected dtype ", DTypeName(types.result), ", got ", DTypeName(output->dtype)));
  }

  RunCursor cursors[kMaxOperands];
  bool narrow[kMaxOperands] = {};
  const bool half = types.compute == DType::kFloat16 || types.compute == DType::kBFloat16;
  for (int k = 0; k < count_; ++k) {
    const Operand& operand = operands_[k];
    cursors[k] = RunCursor(sizes, BroadcastStrides(operand.sizes, operand.strides, sizes));
    narrow[k] = operand.dtype != types.compute &&
                !(exact_last && half && k == count_ - 1 && IsSingle(operand.sizes));
  }
  RunCursor out_cursor(output->sizes, output->strides);
  const int64_t total = output->numel();
  RunBuffer runs[kMaxOperands];
  RunBuffer out;
  for (int64_t done = 0; done < total; done += kRunLength) {
    const int n = static_cast<int>(std::min<int64_t>(kRunLength, total - done));
    for (int k = 0; k < count_; ++k) {
      const Operand& operand = operands_[k];
      const void* data = operand.number ? operand.inline_value : operand.data;
      LoadRun(cursors[k], data, operand.dtype, type, n, runs[k]);
      if (narrow[k]) NarrowRun(runs[k], type, types.compute, n);
    }
    if (!entry.loop(runs, out, n, params))
      return absl::InvalidArgumentError("integer division by zero");
    StoreRun(out, entry.out, n, out_cursor, output->data, output->dtype);
  }
  return absl::OkStatus();
}

absl::Status RunPointwise(KernelContext& context, int arguments, const PromotionRule& rule,
                          const LoopTable& table, bool exact_last) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(arguments, 1));
  PointwiseCall call;
  for (int i = 0; i < table.operands; ++i) ABSL_RETURN_IF_ERROR(call.Add(context, i));
  ABSL_ASSIGN_OR_RETURN(const PromotedTypes types, call.Promote(rule));
  return call.Execute(context, types, table, {}, exact_last);
}

}  // namespace belay
