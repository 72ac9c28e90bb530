#include "executorch/reader/prim_kernels.h"

#include <cmath>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/one_dtype_copy.h"
#include "runtime/core/python_integers.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"

namespace belay::pte {
namespace {

struct IntPairCall {
  int64_t a = 0, b = 0;

  static absl::StatusOr<IntPairCall> Read(const KernelArguments& arguments) {
    IntPairCall call;
    ABSL_ASSIGN_OR_RETURN(call.a, arguments.StaticInt("a"));
    ABSL_ASSIGN_OR_RETURN(call.b, arguments.StaticInt("b"));
    if (call.b == 0) return arguments.ArgumentError("b", "expected a divisor, got 0");
    return call;
  }
  bool overflows() const { return a == INT64_MIN && b == -1; }
};

absl::Status FloorDivInt(KernelContext& context, const IntPairCall& call) {
  if (call.overflows()) return absl::OutOfRangeError("the quotient does not fit in 64 bits");
  context.SetScalarOutput(0, EValue(call.a / call.b));
  return absl::OkStatus();
}

absl::Status ModInt(KernelContext& context, const IntPairCall& call) {
  context.SetScalarOutput(0, EValue(call.overflows() ? int64_t{0} : call.a % call.b));
  return absl::OkStatus();
}

struct RoundCall {
  double a = 0;

  static absl::StatusOr<RoundCall> Read(const KernelArguments& arguments) {
    RoundCall call;
    ABSL_ASSIGN_OR_RETURN(call.a, arguments.Double("a"));
    return call;
  }
};

absl::Status Round(KernelContext& context, const RoundCall& call) {
  const std::optional<int64_t> rounded = TruncateToInt64(std::nearbyint(call.a));
  if (!rounded.has_value()) {
    return absl::OutOfRangeError(absl::StrCat(call.a, " does not fit in 64 bits"));
  }
  context.SetScalarOutput(0, EValue(*rounded));
  return absl::OkStatus();
}

struct CopyIndexCall {
  const TensorView* to = nullptr;
  const TensorView* from = nullptr;
  int64_t index = 0;

  static absl::StatusOr<CopyIndexCall> Read(const KernelArguments& arguments) {
    CopyIndexCall call;
    ABSL_ASSIGN_OR_RETURN(call.to, arguments.Tensor("to"));
    ABSL_ASSIGN_OR_RETURN(call.from, arguments.Tensor("from"));
    ABSL_ASSIGN_OR_RETURN(call.index, arguments.StaticInt("index"));
    if (call.index < 0 || call.index == INT64_MAX) {
      return arguments.ArgumentError("index",
                                     absl::StrCat("expected a row index, got ", call.index));
    }
    return call;
  }
};

// Existing rows keep their content, because rows are the outermost dimension.
absl::Status CopyIndex(KernelContext& context, const CopyIndexCall& call) {
  const TensorView& from = *call.from;
  ABSL_ASSIGN_OR_RETURN(const TensorView* planned, context.PlannedOutput(0));
  if (planned->dtype != from.dtype || planned->rank() != from.rank() + 1 ||
      !planned->is_contiguous()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a contiguous tensor of ", DTypeName(from.dtype), " with one dimension more than ",
        from.ToString(), ", got ", planned->ToString()));
  }
  Sizes sizes = from.sizes;
  const std::optional<int64_t> rows = CheckedAdd<int64_t>(call.index, 1);
  sizes.insert(0, rows.value_or(INT64_MAX));
  ABSL_ASSIGN_OR_RETURN(TensorView * to, context.Output(0, sizes));
  if (from.numel() == 0) return absl::OkStatus();
  TensorView row = *to;
  row.sizes.erase(0);
  row.strides.erase(0);
  // Inside the tensor, whose bytes fit in int64.
  const int64_t offset = call.index * to->strides[0] * static_cast<int64_t>(DTypeSize(to->dtype));
  row.data = to->as<std::byte>() + offset;
  return CopyElementsOfOneDType(from, row);
}

constexpr KernelEngine kReference = KernelEngine::kReference;

constexpr Kernel kKernels[] = {
    KernelRow<&CopyIndex>("executorch_prim.et_copy_index_.tensor", "to from index", "CopyIndex",
                          kReference),
    KernelRow<&FloorDivInt>("executorch_prim.floordiv.int", "a b", "FloorDivInt", kReference),
    KernelRow<&ModInt>("executorch_prim.mod.int", "a b", "ModInt", kReference),
    KernelRow<&Round>("executorch_prim.round.Scalar", "a", "RoundHalfToEven", kReference),
};

}  // namespace

absl::Span<const Kernel> PrimKernels() { return kKernels; }

}  // namespace belay::pte
