// Operators that make tensors out of sizes and numbers.
#include <complex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "exir/ops/families.h"
#include "exir/ops/pointwise.h"
#include "exir/ops/pointwise_layout.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/shape_rules/arange.h"

namespace belay::exir {
namespace {

// Argument `i`, sizes of which none is negative.
absl::StatusOr<std::vector<SymInt>> SizesOf(const MetaContext& context, int i) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes, context.IntList(i));
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d].AsInt().value_or(0) < 0) {
      return ArgumentError(context, i,
                           absl::StrCat("size ", *sizes[d].AsInt(), " at dimension ", d));
    }
  }
  return sizes;
}

// The arguments behind the dtype: layout, device, pin_memory. Devices are ignored: programs run on
// one.
absl::Status CheckOptions(const MetaContext& context, int dtype) {
  const Layout* layout = context.argument(dtype + 1).get_if<Layout>();
  if (layout != nullptr && *layout != Layout::kStrided) {
    return absl::UnimplementedError(absl::StrCat(context.schema().ns, "::", context.schema().op,
                                                 ": only strided tensors are supported"));
  }
  return absl::OkStatus();
}

absl::Status SetResult(MetaContext& context, int dtype, absl::StatusOr<TensorMeta> result) {
  if (!result.ok()) return MetaError(context, FromAbsl(result.status().message()));
  ABSL_RETURN_IF_ERROR(CheckOptions(context, dtype));
  for (const SymInt& stride : result->strides) {
    if (result->is_static() && !stride.AsInt().has_value())
      return MetaError(context, "the tensor has too many elements");
  }
  context.SetOutput(0, *std::move(result));
  return absl::OkStatus();
}

// (size, *, dtype?, …), (size, value, *, dtype?, …) and so on, at these positions.
template <int kSize, int kDtype>
absl::Status InferSized(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes, SizesOf(context, kSize));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(kDtype, DType::kFloat32));
  return SetResult(context, kDtype, TensorMeta::Contiguous(dtype, std::move(sizes)));
}

// (size, *, dtype?, layout?, device?, pin_memory?, memory_format?)
absl::Status InferEmpty(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes, SizesOf(context, 0));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(1, DType::kFloat32));
  ABSL_ASSIGN_OR_RETURN(const MemoryFormat format,
                        context.MemoryFormatOr(5, MemoryFormat::kContiguous));
  return SetResult(context, 1, ResultInFormat(dtype, std::move(sizes), format));
}

// (size, stride, *, dtype?, …)
absl::Status InferEmptyStrided(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes, SizesOf(context, 0));
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> strides, context.IntList(1));
  if (sizes.size() != strides.size()) {
    return ArgumentError(context, 1,
                         absl::StrCat("expected ", sizes.size(), " strides, got ", strides.size()));
  }
  for (const SymInt& stride : strides) {
    if (stride.AsInt().value_or(0) < 0)
      return ArgumentError(context, 1, absl::StrCat("stride ", *stride.AsInt()));
  }
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(2, DType::kFloat32));
  TensorMeta result;
  result.dtype = dtype;
  result.sizes = std::move(sizes);
  result.strides = std::move(strides);
  return SetResult(context, 2, std::move(result));
}

// (size, value, *, dtype?, …)
absl::Status InferFull(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes, SizesOf(context, 0));
  ABSL_ASSIGN_OR_RETURN(const DType category, context.ScalarCategory(1));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(2, category));
  return SetResult(context, 2, TensorMeta::Contiguous(dtype, std::move(sizes)));
}

// (self, size, …), contiguous, with the dtype of self by default.
template <int kDtype>
absl::Status InferNew(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes, SizesOf(context, 1));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(kDtype, self->dtype));
  return SetResult(context, kDtype, TensorMeta::Contiguous(dtype, std::move(sizes)));
}

// (self, …, dtype?, layout?, device?, pin_memory?, memory_format?), the dtype at this position.
template <int kDtype>
absl::Status InferLike(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(kDtype, self->dtype));
  ABSL_ASSIGN_OR_RETURN(const MemoryFormat format,
                        context.MemoryFormatOr(kDtype + 4, MemoryFormat::kPreserve));
  return SetResult(context, kDtype, ResultLike(dtype, *self, format));
}

// (self, value)
absl::Status InferFill(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  if (const TensorMeta* value = context.argument(1).get_if<TensorMeta>()) {
    if (value->rank() != 0) {
      return ArgumentError(
          context, 1,
          absl::StrCat("expected a tensor without dimensions, got ", value->rank(), " dimensions"));
    }
  } else {
    ABSL_RETURN_IF_ERROR(context.ScalarCategory(1).status());
  }
  ABSL_ASSIGN_OR_RETURN(TensorMeta result, ResultLike(self->dtype, *self, MemoryFormat::kPreserve));
  context.SetOutput(0, std::move(result));
  return absl::OkStatus();
}

// (s, *, dtype?, …)
absl::Status InferScalarTensor(MetaContext& context) {
  ABSL_RETURN_IF_ERROR(context.ScalarCategory(0).status());
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(1, DType::kFloat32));
  return SetResult(context, 1, TensorMeta::Contiguous(dtype, {}));
}

// A real number, if it is one.
std::optional<RealNumber> NumberOf(const MetaValue& value) {
  if (const double* real = value.get_if<double>()) return RealNumber(*real);
  if (const bool* boolean = value.get_if<bool>()) return RealNumber(int64_t{*boolean});
  if (const auto* complex = value.get_if<std::complex<double>>())
    return RealNumber(complex->real());
  const SymExpr* e = value.get_if<SymExpr>();
  if (e == nullptr) return std::nullopt;
  if (const std::optional<int64_t> integer = e->AsInt()) return RealNumber(*integer);
  if (const std::optional<double> real = e->AsFloat()) return RealNumber(*real);
  return std::nullopt;
}

// The length of a range of which a number is symbolic: ceil((end - start) / step). kUnimplemented
// for floats.
absl::StatusOr<SymInt> SymbolicLength(const MetaContext& context, const MetaValue& start,
                                      const MetaValue& end, const MetaValue& step) {
  SymInt numbers[3];
  const MetaValue* const values[3] = {&start, &end, &step};
  for (int i = 0; i < 3; ++i) {
    const SymExpr* e = values[i]->get_if<SymExpr>();
    if (e == nullptr || e->value_kind() != SymExpr::ValueKind::kInt) {
      return absl::UnimplementedError(absl::StrCat(context.schema().ns, "::", context.schema().op,
                                                   ": a symbolic range must be of integers"));
    }
    numbers[i] = *e;
  }
  const SymInt distance = numbers[1] - numbers[0];
  const std::optional<int64_t> by = numbers[2].AsInt();
  if (!by.has_value()) return SymExpr::Function("CeilDiv", {distance, numbers[2]});
  if (*by == 0) return MetaError(context, "the step must not be zero");
  if (*by > 0) return FloorDiv(distance + SymInt(*by) - SymInt(1), *by);
  return FloorDiv(SymInt(0) - distance - SymInt(*by) - SymInt(1), SymInt(0) - numbers[2]);
}

// (start, end, step, *, dtype?, …) with as many of the first three as kNumbers says: (end), (start,
// end), all.
template <int kNumbers>
absl::Status InferArange(MetaContext& context) {
  MetaValue start = SymExpr(0), end, step = SymExpr(1);
  DType fallback = DType::kInt64;
  for (int i = 0; i < kNumbers; ++i) {
    ABSL_ASSIGN_OR_RETURN(const DType category, context.ScalarCategory(i));
    ABSL_RETURN_IF_ERROR(CheckRealNumber(context, i));
    if (IsFloatingPoint(category) || IsComplex(category)) fallback = DType::kFloat32;
    (kNumbers == 1 || i == 1 ? end : i == 0 ? start : step) = context.argument(i);
  }
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(kNumbers, fallback));
  if (IsComplex(dtype) || dtype == DType::kBool) {
    return ArgumentError(context, kNumbers,
                         absl::StrCat("dtype ", DTypeName(dtype), " is not supported"));
  }
  const std::optional<RealNumber> numbers[3] = {NumberOf(start), NumberOf(end), NumberOf(step)};
  SymInt length;
  if (numbers[0].has_value() && numbers[1].has_value() && numbers[2].has_value()) {
    const absl::StatusOr<int64_t> known =
        ArangeLength(*numbers[0], *numbers[1], *numbers[2], dtype);
    if (!known.ok()) return MetaError(context, FromAbsl(known.status().message()));
    length = *known;
  } else {
    ABSL_ASSIGN_OR_RETURN(length, SymbolicLength(context, start, end, step));
  }
  return SetResult(context, kNumbers, TensorMeta::Contiguous(dtype, {length}));
}

absl::Status CheckRandom(const MetaContext& context, DType dtype) {
  constexpr DTypeSet kTypes = kFloatTypes | kComplexTypes;
  if (kTypes.contains(dtype)) return absl::OkStatus();
  return MetaError(context,
                   absl::StrCat("dtype ", DTypeName(dtype), " is not supported, expected one of ",
                                FormatDTypeSet(kTypes)));
}

// (size, *, dtype?, …)
absl::Status InferRandom(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(1, DType::kFloat32));
  ABSL_RETURN_IF_ERROR(CheckRandom(context, dtype));
  return InferSized<0, 1>(context);
}

// (self, *, dtype?, …)
absl::Status InferRandomLike(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(1, self->dtype));
  ABSL_RETURN_IF_ERROR(CheckRandom(context, dtype));
  return InferLike<1>(context);
}

// (n, *, dtype?, …)
absl::Status InferRandperm(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const SymInt n, context.Int(0));
  if (n.AsInt().value_or(0) < 0)
    return ArgumentError(context, 0, absl::StrCat("a size of ", *n.AsInt()));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(1, DType::kInt64));
  if (!kNumericTypes.contains(dtype)) {
    return ArgumentError(
        context, 1,
        absl::StrCat("dtype ", DTypeName(dtype), " is not supported, expected one of ",
                     FormatDTypeSet(kNumericTypes)));
  }
  return SetResult(context, 1, TensorMeta::Contiguous(dtype, {n}));
}

#define BELAY_OPTIONS \
  "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"

constexpr OpDef Row(std::string_view schema, MetaFn meta, uint32_t traits = 0) {
  return {schema, meta, traits, "", kExact};
}

constexpr OpDef kOps[] = {
    Row("aten::arange(Scalar end, *, " BELAY_OPTIONS ") -> Tensor", &InferArange<1>),
    Row("aten::arange.start(Scalar start, Scalar end, *, " BELAY_OPTIONS ") -> Tensor",
        &InferArange<2>),
    Row("aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, " BELAY_OPTIONS
        ") -> Tensor",
        &InferArange<3>, kCore),
    Row("aten::empty.memory_format(SymInt[] size, *, " BELAY_OPTIONS
        ", MemoryFormat? memory_format=None) -> Tensor",
        &InferEmpty, kCore | kCreation),
    Row("aten::empty_like(Tensor self, *, " BELAY_OPTIONS
        ", MemoryFormat? memory_format=None) -> Tensor",
        &InferLike<1>, kCreation),
    Row("aten::empty_strided(SymInt[] size, SymInt[] stride, *, " BELAY_OPTIONS ") -> Tensor",
        &InferEmptyStrided, kCore | kCreation),
    Row("aten::fill.Scalar(Tensor self, Scalar value) -> Tensor", &InferFill, kCore),
    Row("aten::fill.Tensor(Tensor self, Tensor value) -> Tensor", &InferFill),
    Row("aten::full(SymInt[] size, Scalar fill_value, *, " BELAY_OPTIONS ") -> Tensor", &InferFull,
        kCore | kCreation),
    Row("aten::full_like(Tensor self, Scalar fill_value, *, " BELAY_OPTIONS
        ", MemoryFormat? memory_format=None) -> Tensor",
        &InferLike<2>, kCore | kCreation),
    Row("aten::new_empty(Tensor self, SymInt[] size, *, " BELAY_OPTIONS ") -> Tensor", &InferNew<2>,
        kCreation),
    Row("aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, " BELAY_OPTIONS
        ") -> Tensor",
        &InferNew<3>, kCreation),
    Row("aten::new_ones(Tensor self, SymInt[] size, *, " BELAY_OPTIONS ") -> Tensor", &InferNew<2>,
        kCreation),
    Row("aten::new_zeros(Tensor self, SymInt[] size, *, " BELAY_OPTIONS ") -> Tensor", &InferNew<2>,
        kCreation),
    Row("aten::ones(SymInt[] size, *, " BELAY_OPTIONS ") -> Tensor", &InferSized<0, 1>, kCreation),
    Row("aten::ones_like(Tensor self, *, " BELAY_OPTIONS
        ", MemoryFormat? memory_format=None) -> Tensor",
        &InferLike<1>, kCreation),
    Row("aten::rand(SymInt[] size, *, " BELAY_OPTIONS ") -> Tensor", &InferRandom,
        kCore | kNondeterministic),
    Row("aten::rand_like(Tensor self, *, " BELAY_OPTIONS
        ", MemoryFormat? memory_format=None) -> Tensor",
        &InferRandomLike, kNondeterministic),
    Row("aten::randn(SymInt[] size, *, " BELAY_OPTIONS ") -> Tensor", &InferRandom,
        kCore | kNondeterministic),
    Row("aten::randn_like(Tensor self, *, " BELAY_OPTIONS
        ", MemoryFormat? memory_format=None) -> Tensor",
        &InferRandomLike, kNondeterministic),
    Row("aten::randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? "
        "device=None, bool? "
        "pin_memory=None) -> Tensor",
        &InferRandperm, kCore | kNondeterministic),
    Row("aten::scalar_tensor(Scalar s, *, " BELAY_OPTIONS ") -> Tensor", &InferScalarTensor,
        kCore | kAtenInEdge),
    Row("aten::zeros(SymInt[] size, *, " BELAY_OPTIONS ") -> Tensor", &InferSized<0, 1>, kCreation),
    Row("aten::zeros_like(Tensor self, *, " BELAY_OPTIONS
        ", MemoryFormat? memory_format=None) -> Tensor",
        &InferLike<1>, kCreation),
};

#undef BELAY_OPTIONS

}  // namespace

absl::Span<const OpDef> CreationOps() { return kOps; }

}  // namespace belay::exir
