// Operators that create tensors from sizes and scalars.
#include <cmath>
#include <complex>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "exir/ops/families.h"
#include "exir/ops/meta_arguments.h"
#include "exir/ops/pointwise.h"
#include "exir/ops/pointwise_layout.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/shape_rules/arange.h"
#include "runtime/kernel_interface/shape_rules/creation.h"
#include "runtime/kernel_interface/shape_rules/random.h"

namespace belay::exir {
namespace {

// Devices are ignored: programs run on one device.
absl::Status SetResult(MetaContext& context, absl::StatusOr<TensorMeta> result) {
  if (!result.ok()) return MetaError(context, FromAbsl(result.status().message()));
  const Layout* layout = MetaArguments(context)["layout"].get_if<Layout>();
  if (layout != nullptr && *layout != Layout::kStrided) {
    return absl::UnimplementedError(absl::StrCat(context.schema().ns, "::", context.schema().op,
                                                 ": only strided tensors are supported"));
  }
  for (const SymInt& stride : result->strides) {
    if (result->is_static() && !stride.AsInt().has_value())
      return MetaError(context, "the tensor has too many elements");
  }
  context.SetOutput(0, *std::move(result));
  return absl::OkStatus();
}

using Sized = SizedCall<MetaArguments>;
using Like = LikeCall<MetaArguments>;

absl::Status InferSized(MetaContext& context, const Sized& call) {
  return SetResult(context, TensorMeta::Contiguous(call.dtype, call.sizes));
}

absl::Status InferEmpty(MetaContext& context, const Sized& call) {
  ABSL_ASSIGN_OR_RETURN(const MemoryFormat format, MetaArguments(context).MemoryFormatOr(
                                                       "memory_format", MemoryFormat::kContiguous));
  return SetResult(context, ResultInFormat(call.dtype, call.sizes, format));
}

absl::Status InferEmptyStrided(MetaContext& context, const EmptyStridedCall<MetaArguments>& call) {
  TensorMeta result;
  result.dtype = call.dtype;
  result.sizes = call.sizes;
  result.strides = call.strides;
  return SetResult(context, std::move(result));
}

absl::Status InferLike(MetaContext& context, const Like& call) {
  ABSL_ASSIGN_OR_RETURN(const MemoryFormat format, MetaArguments(context).MemoryFormatOr(
                                                       "memory_format", MemoryFormat::kPreserve));
  return SetResult(context, ResultLike(call.dtype, *call.self, format));
}

absl::Status InferFill(MetaContext& context, const FillCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(TensorMeta result,
                        ResultLike(call.self->dtype, *call.self, MemoryFormat::kPreserve));
  context.SetOutput(0, std::move(result));
  return absl::OkStatus();
}

absl::Status InferScalarTensor(MetaContext& context, const ScalarTensorCall<MetaArguments>& call) {
  return SetResult(context, TensorMeta::Contiguous(call.dtype, {}));
}

// Returns a scalar argument of a range if it is known. Precondition: ArangeCall has read it, so it
// is a float, a bool, complex or an expression.
std::optional<RealNumber> NumberOf(const MetaValue& value) {
  if (const double* real = value.get_if<double>()) return RealNumber(*real);
  if (const bool* boolean = value.get_if<bool>()) return RealNumber(int64_t{*boolean});
  if (const auto* complex = value.get_if<std::complex<double>>())
    return RealNumber(complex->real());
  const SymExpr& e = *value.get_if<SymExpr>();
  if (const std::optional<int64_t> integer = e.AsInt()) return RealNumber(*integer);
  if (const std::optional<double> real = e.AsFloat()) return RealNumber(*real);
  return std::nullopt;
}

// Returns a scalar argument of a range with a symbolic argument. Integral floats are integers; so
// are other floats in an int64 range, truncated.
absl::StatusOr<SymExpr> RangeNumber(const MetaContext& context, const MetaValue& value,
                                    DType dtype) {
  constexpr double kMost = 0x1p53;
  if (const std::optional<RealNumber> known = NumberOf(value)) {
    const double real = ToDouble(*known);
    const bool cut = dtype == DType::kInt64 || real == std::trunc(real);
    if (std::abs(real) <= kMost && cut) return SymExpr(TruncateToInt(*known));
    return SymExpr::Float(real);
  }
  const SymExpr& e = *value.get_if<SymExpr>();
  if (e.value_kind() != SymExpr::ValueKind::kBool) return e;
  return MetaError(context, "a range must be of numbers");
}

// Returns the length of a range with a symbolic argument: ceil((end - start) / step).
absl::StatusOr<SymInt> SymbolicLength(const MetaContext& context, const MetaValue& start,
                                      const MetaValue& end, const MetaValue& step, DType dtype) {
  ABSL_ASSIGN_OR_RETURN(const SymExpr first, RangeNumber(context, start, dtype));
  ABSL_ASSIGN_OR_RETURN(const SymExpr last, RangeNumber(context, end, dtype));
  ABSL_ASSIGN_OR_RETURN(const SymExpr by, RangeNumber(context, step, dtype));
  const SymExpr distance = last - first;
  if (by.AsFloat() == 0) return MetaError(context, "the step must not be zero");
  for (const SymExpr& number : {first, last, by}) {
    if (number.value_kind() == SymExpr::ValueKind::kInt) continue;
    return SymExpr::Function("CeilToInt", {SymExpr::Function("FloatTrueDiv", {distance, by})});
  }
  const std::optional<int64_t> known = by.AsInt();
  if (!known.has_value()) return SymExpr::Function("CeilDiv", {distance, by});
  if (*known > 0) return FloorDiv(distance + by - SymInt(1), by);
  return FloorDiv(SymInt(0) - distance - by - SymInt(1), SymInt(0) - by);
}

absl::Status InferArange(MetaContext& context, const ArangeCall<MetaArguments>& call) {
  const MetaValue zero = SymExpr(0), one = SymExpr(1);
  const MetaValue& start = call.start.value == nullptr ? zero : *call.start.value;
  const MetaValue& end = *call.end.value;
  const MetaValue& step = call.step.value == nullptr ? one : *call.step.value;
  const std::optional<RealNumber> numbers[3] = {NumberOf(start), NumberOf(end), NumberOf(step)};
  SymInt length;
  if (numbers[0].has_value() && numbers[1].has_value() && numbers[2].has_value()) {
    const absl::StatusOr<int64_t> known =
        ArangeLength(*numbers[0], *numbers[1], *numbers[2], call.dtype);
    if (!known.ok()) return MetaError(context, FromAbsl(known.status().message()));
    length = *known;
  } else {
    ABSL_ASSIGN_OR_RETURN(length, SymbolicLength(context, start, end, step, call.dtype));
  }
  return SetResult(context, TensorMeta::Contiguous(call.dtype, {length}));
}

// For the operator and its seeded variant, whose state is checked.
template <class Call>
using Seeded = SeededCall<Call, MetaArguments>;

absl::Status InferRandom(MetaContext& context, const Seeded<RandomCall<Sized>>& call) {
  return InferSized(context, call);
}

absl::Status InferRandomLike(MetaContext& context, const Seeded<RandomCall<Like>>& call) {
  return InferLike(context, call);
}

absl::Status InferRandint(MetaContext& context, const Seeded<RandintCall<MetaArguments>>& call) {
  return SetResult(context, TensorMeta::Contiguous(call.dtype, call.sizes));
}

absl::Status InferRandperm(MetaContext& context, const Seeded<RandpermCall<MetaArguments>>& call) {
  return SetResult(context, TensorMeta::Contiguous(call.dtype, {call.n}));
}

#define BELAY_OPTIONS \
  "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define BELAY_LONG_OPTIONS \
  "ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define BELAY_SEED "Tensor random_state, int offset, "

constexpr OpDef Row(std::string_view schema, MetaFn meta, uint32_t traits = 0) {
  return {schema, meta, traits, "", kExact};
}

constexpr OpDef kOps[] = {
    Row("aten::arange(Scalar end, *, " BELAY_OPTIONS ") -> Tensor", &MetaKernel<&InferArange>),
    Row("aten::arange.start(Scalar start, Scalar end, *, " BELAY_OPTIONS ") -> Tensor",
        &MetaKernel<&InferArange>),
    Row("aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, " BELAY_OPTIONS
        ") -> Tensor",
        &MetaKernel<&InferArange>, kCore),
    Row("aten::empty.memory_format(SymInt[] size, *, " BELAY_OPTIONS
        ", MemoryFormat? memory_format=None) -> Tensor",
        &MetaKernel<&InferEmpty>, kCore | kCreation),
    Row("aten::empty_like(Tensor self, *, " BELAY_OPTIONS
        ", MemoryFormat? memory_format=None) -> Tensor",
        &MetaKernel<&InferLike>, kCreation),
    Row("aten::empty_strided(SymInt[] size, SymInt[] stride, *, " BELAY_OPTIONS ") -> Tensor",
        &MetaKernel<&InferEmptyStrided>, kCore | kCreation),
    Row("aten::fill.Scalar(Tensor self, Scalar value) -> Tensor", &MetaKernel<&InferFill>, kCore),
    Row("aten::fill.Tensor(Tensor self, Tensor value) -> Tensor", &MetaKernel<&InferFill>),
    Row("aten::full(SymInt[] size, Scalar fill_value, *, " BELAY_OPTIONS ") -> Tensor",
        &MetaKernel<&InferSized>, kCore | kCreation),
    Row("aten::full_like(Tensor self, Scalar fill_value, *, " BELAY_OPTIONS
        ", MemoryFormat? memory_format=None) -> Tensor",
        &MetaKernel<&InferLike>, kCore | kCreation),
    Row("aten::new_empty(Tensor self, SymInt[] size, *, " BELAY_OPTIONS ") -> Tensor",
        &MetaKernel<&InferSized>, kCreation),
    Row("aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, " BELAY_OPTIONS
        ") -> Tensor",
        &MetaKernel<&InferSized>, kCreation),
    Row("aten::new_ones(Tensor self, SymInt[] size, *, " BELAY_OPTIONS ") -> Tensor",
        &MetaKernel<&InferSized>, kCreation),
    Row("aten::new_zeros(Tensor self, SymInt[] size, *, " BELAY_OPTIONS ") -> Tensor",
        &MetaKernel<&InferSized>, kCreation),
    Row("aten::ones(SymInt[] size, *, " BELAY_OPTIONS ") -> Tensor", &MetaKernel<&InferSized>,
        kCreation),
    Row("aten::ones_like(Tensor self, *, " BELAY_OPTIONS
        ", MemoryFormat? memory_format=None) -> Tensor",
        &MetaKernel<&InferLike>, kCreation),
    Row("aten::rand(SymInt[] size, *, " BELAY_OPTIONS ") -> Tensor", &MetaKernel<&InferRandom>,
        kCore | kNondeterministic),
    Row("aten::rand_like(Tensor self, *, " BELAY_OPTIONS
        ", MemoryFormat? memory_format=None) -> Tensor",
        &MetaKernel<&InferRandomLike>, kNondeterministic),
    Row("aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, " BELAY_LONG_OPTIONS
        ") -> Tensor",
        &MetaKernel<&InferRandint>, kNondeterministic),
    Row("aten::randn(SymInt[] size, *, " BELAY_OPTIONS ") -> Tensor", &MetaKernel<&InferRandom>,
        kCore | kNondeterministic),
    Row("aten::randn_like(Tensor self, *, " BELAY_OPTIONS
        ", MemoryFormat? memory_format=None) -> Tensor",
        &MetaKernel<&InferRandomLike>, kNondeterministic),
    Row("aten::randperm(SymInt n, *, " BELAY_LONG_OPTIONS ") -> Tensor",
        &MetaKernel<&InferRandperm>, kCore | kNondeterministic),
    Row("aten::scalar_tensor(Scalar s, *, " BELAY_OPTIONS ") -> Tensor",
        &MetaKernel<&InferScalarTensor>, kCore | kAtenInEdge),
    Row("aten::zeros(SymInt[] size, *, " BELAY_OPTIONS ") -> Tensor", &MetaKernel<&InferSized>,
        kCreation),
    Row("aten::zeros_like(Tensor self, *, " BELAY_OPTIONS
        ", MemoryFormat? memory_format=None) -> Tensor",
        &MetaKernel<&InferLike>, kCreation),
    Row("seeded::rand(" BELAY_SEED "SymInt[] size, *, " BELAY_OPTIONS ") -> Tensor",
        &MetaKernel<&InferRandom>),
    Row("seeded::rand_like(" BELAY_SEED "Tensor self, *, " BELAY_OPTIONS
        ", MemoryFormat? memory_format=None) -> Tensor",
        &MetaKernel<&InferRandomLike>),
    Row("seeded::randint.low(" BELAY_SEED
        "SymInt low, SymInt high, SymInt[] size, *, " BELAY_LONG_OPTIONS ") -> Tensor",
        &MetaKernel<&InferRandint>),
    Row("seeded::randn(" BELAY_SEED "SymInt[] size, *, " BELAY_OPTIONS ") -> Tensor",
        &MetaKernel<&InferRandom>),
    Row("seeded::randn_like(" BELAY_SEED "Tensor self, *, " BELAY_OPTIONS
        ", MemoryFormat? memory_format=None) -> Tensor",
        &MetaKernel<&InferRandomLike>),
    Row("seeded::randperm(" BELAY_SEED "SymInt n, *, " BELAY_LONG_OPTIONS ") -> Tensor",
        &MetaKernel<&InferRandperm>),
};

#undef BELAY_OPTIONS
#undef BELAY_LONG_OPTIONS
#undef BELAY_SEED

}  // namespace

absl::Span<const OpDef> CreationOps() { return kOps; }

}  // namespace belay::exir
