// Shape rules of matmuls and of distances between rows.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_MATMUL_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_MATMUL_H_

#include <cmath>
#include <complex>
#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/core/dtype.h"
#include "runtime/core/evalue.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/shape_rules/broadcast.h"
#include "runtime/kernel_interface/shape_rules/strided.h"

namespace belay {

template <class D>
absl::Status ExpectRank(std::string_view name, absl::Span<const D> dims, size_t rank) {
  if (dims.size() == rank) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": expected rank ", rank, ", got shape ", FormatDims<D>(dims)));
}

// Integer matmuls truncate a factor (alpha, beta) to an integer, which must fit in the dtype; for
// uint8, its magnitude must. `name` is the argument's name.
inline absl::Status CheckIntegerFactor(std::string_view name, DType dtype, double factor) {
  const int bits = static_cast<int>(DTypeSize(dtype)) * 8;
  const double limit = dtype == DType::kUint8 ? 256.0 : std::ldexp(1.0, bits - 1);
  const double cut = std::trunc(factor);
  if (cut < limit && (dtype == DType::kUint8 ? cut > -limit : cut >= -limit)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": ", factor, " is out of range for ", DTypeName(dtype)));
}

// [n,k] x [k,m] -> [n,m], with `batch` leading dimensions that must be equal.
template <class D>
absl::StatusOr<Dims<D>> MatMulShape(absl::Span<const D> a, absl::Span<const D> b, int batch) {
  ABSL_RETURN_IF_ERROR(ExpectRank<D>("first matrix", a, batch + 2));
  ABSL_RETURN_IF_ERROR(ExpectRank<D>("second matrix", b, batch + 2));
  bool fits = !KnownDifferent(a[batch + 1], b[batch]);
  Dims<D> out;
  for (int i = 0; i < batch; ++i) {
    fits = fits && !KnownDifferent(a[i], b[i]);
    out.push_back(KnownInt(a[i]).has_value() ? a[i] : b[i]);
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("shapes ", FormatDims<D>(a), " and ",
                                                   FormatDims<D>(b), " cannot be multiplied"));
  }
  out.push_back(a[batch]);
  out.push_back(b[batch + 1]);
  return out;
}

// [n,k] x [k] -> [n].
template <class D>
absl::StatusOr<Dims<D>> MatVecShape(absl::Span<const D> matrix, absl::Span<const D> vector) {
  ABSL_RETURN_IF_ERROR(ExpectRank<D>("matrix", matrix, 2));
  ABSL_RETURN_IF_ERROR(ExpectRank<D>("vector", vector, 1));
  if (KnownDifferent(matrix[1], vector[0])) {
    return absl::InvalidArgumentError(absl::StrCat("shapes ", FormatDims<D>(matrix), " and ",
                                                   FormatDims<D>(vector), " cannot be multiplied"));
  }
  Dims<D> out;
  out.push_back(matrix[0]);
  return out;
}

// [k] . [k] -> [].
template <class D>
absl::StatusOr<Dims<D>> DotShape(absl::Span<const D> a, absl::Span<const D> b) {
  ABSL_RETURN_IF_ERROR(ExpectRank<D>("first vector", a, 1));
  ABSL_RETURN_IF_ERROR(ExpectRank<D>("second vector", b, 1));
  if (KnownDifferent(a[0], b[0])) {
    return absl::InvalidArgumentError(absl::StrCat("shapes ", FormatDims<D>(a), " and ",
                                                   FormatDims<D>(b), " cannot be multiplied"));
  }
  return Dims<D>();
}

// OK if a tensor of shape `from` can be expanded to `to`.
template <class D>
absl::Status CheckExpandable(std::string_view name, absl::Span<const D> from,
                             absl::Span<const D> to) {
  bool fits = from.size() <= to.size();
  for (size_t i = 0; fits && i < from.size(); ++i) {
    fits = KnownInt(from[i]) == 1 || !KnownDifferent(from[i], to[i + to.size() - from.size()]);
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, ": shape ", FormatDims<D>(from),
                                                 " does not expand to ", FormatDims<D>(to)));
}

// [...,p,m] and [...,r,m] -> [...,p,r]; batch dimensions broadcast.
template <class D>
absl::StatusOr<Dims<D>> CdistShape(absl::Span<const D> x1, absl::Span<const D> x2) {
  if (x1.size() < 2 || x2.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("cdist: expected at least two dimensions, got shapes ", FormatDims<D>(x1),
                     " and ", FormatDims<D>(x2)));
  }
  if (KnownDifferent(x1.back(), x2.back())) {
    return absl::InvalidArgumentError(absl::StrCat("cdist: x1 ", FormatDims<D>(x1), " and x2 ",
                                                   FormatDims<D>(x2),
                                                   " have rows of different length"));
  }
  ABSL_ASSIGN_OR_RETURN(
      Dims<D> out, BroadcastShape<D>(x1.subspan(0, x1.size() - 2), x2.subspan(0, x2.size() - 2)));
  if (out.size() + 2 > kMaxRank) {
    return absl::InvalidArgumentError("cdist: the rank of the result is too large");
  }
  out.push_back(x1[x1.size() - 2]);
  out.push_back(x2[x2.size() - 2]);
  return out;
}

// [n,m] -> [n * (n - 1) / 2]: one distance per pair of different rows.
template <class D>
absl::StatusOr<Dims<D>> PdistShape(absl::Span<const D> x) {
  ABSL_RETURN_IF_ERROR(ExpectRank<D>("pdist", x, 2));
  Dims<D> out;
  out.push_back(FloorDiv(x[0] * (x[0] - D(int64_t{1})), D(int64_t{2})));
  return out;
}

// _trilinear: returns the shape of an operand after `expand` has inserted dimensions of size 1 at
// the given positions.
template <class D>
absl::StatusOr<Dims<D>> ExpandedShape(absl::Span<const D> dims, absl::Span<const int64_t> expand,
                                      int rank) {
  Dims<D> out;
  size_t next = 0;
  if (rank > kMaxRank || dims.size() + expand.size() != static_cast<size_t>(rank)) {
    return absl::InvalidArgumentError(absl::StrCat("shape ", FormatDims<D>(dims), " with ",
                                                   expand.size(),
                                                   " new dimensions does not have rank ", rank));
  }
  // All of `dims` are consumed only if the positions in `expand` are distinct and within `rank`.
  for (int i = 0; i < rank; ++i) {
    if (std::find(expand.begin(), expand.end(), i) != expand.end()) {
      out.push_back(D(int64_t{1}));
    } else if (next < dims.size()) {
      out.push_back(dims[next++]);
    } else {
      return absl::InvalidArgumentError(
          "the list of new dimensions repeats one or is out of range");
    }
  }
  return out;
}

// Checks that _trilinear's unroll_dim is one of the broadcast dimensions.
inline absl::Status CheckUnrolledDim(int64_t dim, int rank) {
  if (dim >= 0 && dim < rank) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("unroll_dim: expected one of ", rank, " dimensions, got ", dim));
}

inline constexpr DTypeSet kMatrixTypes = kIntegralTypes | kFloatTypes | kComplexTypes;

// A factor of addmm and similar operators: alpha or beta.
struct ProductFactor {
  std::complex<double> number = 1;  // real for real dtypes
  int64_t integer = 1;              // for integral dtypes: `number`, truncated
  bool is_int = true;               // passed as an int
};

// Reads the factor `name` for operands of `dtype`; only complex dtypes accept an imaginary part.
// Returns the default if the value is not known yet.
template <class Arguments>
absl::StatusOr<ProductFactor> ReadProductFactor(const Arguments& arguments, std::string_view name,
                                                DType dtype) {
  ABSL_ASSIGN_OR_RETURN(const EValue value, arguments.Scalar(name));
  ProductFactor factor;
  if (value.is_none()) return factor;
  const int64_t* const i = value.template get_if<int64_t>();
  factor.is_int = i != nullptr;
  if (i != nullptr) factor.number = static_cast<double>(*i);
  if (const bool* b = value.template get_if<bool>()) factor.number = *b ? 1 : 0;
  if (const double* d = value.template get_if<double>()) factor.number = *d;
  if (const auto* c = value.template get_if<std::complex<double>>()) factor.number = *c;
  if (IsComplex(dtype)) return factor;
  const double real = factor.number.real();
  if (factor.number.imag() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("argument '", name, "': expected a real number, got complex"));
  }
  if (!IsIntegral(dtype, false)) return factor;
  if (dtype == DType::kInt64 && i != nullptr) {
    factor.integer = *i;
    return factor;
  }
  ABSL_RETURN_IF_ERROR(CheckIntegerFactor(name, dtype, real));
  factor.integer = static_cast<int64_t>(real);
  return factor;
}

enum class ProductForm : uint8_t { kMm, kBmm, kMv, kDot };

template <ProductForm kForm, class D>
absl::StatusOr<Dims<D>> ProductShape(absl::Span<const D> a, absl::Span<const D> b) {
  if constexpr (kForm == ProductForm::kMv) return MatVecShape<D>(a, b);
  if constexpr (kForm == ProductForm::kDot) return DotShape<D>(a, b);
  return MatMulShape<D>(a, b, kForm == ProductForm::kBmm ? 1 : 0);
}

// mm, bmm, mv, dot: a @ b.
template <class Arguments, ProductForm kForm>
struct ProductCall {
  static constexpr std::string_view kSecond = kForm == ProductForm::kMv    ? "vec"
                                              : kForm == ProductForm::kDot ? "tensor"
                                                                           : "mat2";
  typename Arguments::TensorRef a, b;  // of one dtype

  static absl::StatusOr<ProductCall> Read(const Arguments& arguments) {
    ProductCall call;
    ABSL_ASSIGN_OR_RETURN(call.a, arguments.Tensor("self", kMatrixTypes));
    ABSL_ASSIGN_OR_RETURN(call.b, arguments.Tensor(kSecond, DTypeSet{call.a->dtype}));
    return call;
  }
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    return ProductShape<kForm, typename Arguments::Dim>(Arguments::SizesOf(a),
                                                        Arguments::SizesOf(b));
  }
};

// addmm, baddbmm, addmv: beta * self + alpha * (a @ b).
template <class Arguments, ProductForm kForm>
struct ScaledSumCall {
  static constexpr std::string_view kFirst = kForm == ProductForm::kMm    ? "mat1"
                                             : kForm == ProductForm::kBmm ? "batch1"
                                                                          : "mat";
  static constexpr std::string_view kSecond = kForm == ProductForm::kMm    ? "mat2"
                                              : kForm == ProductForm::kBmm ? "batch2"
                                                                           : "vec";
  typename Arguments::TensorRef self, a, b;  // of one dtype
  ProductFactor beta, alpha;

  static absl::StatusOr<ScaledSumCall> Read(const Arguments& arguments) {
    ScaledSumCall call;
    ABSL_ASSIGN_OR_RETURN(call.a, arguments.Tensor(kFirst, kMatrixTypes));
    const DType dtype = call.a->dtype;
    ABSL_ASSIGN_OR_RETURN(call.b, arguments.Tensor(kSecond, DTypeSet{dtype}));
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self", DTypeSet{dtype}));
    ABSL_ASSIGN_OR_RETURN(call.beta, ReadProductFactor(arguments, "beta", dtype));
    ABSL_ASSIGN_OR_RETURN(call.alpha, ReadProductFactor(arguments, "alpha", dtype));
    return call;
  }
  // Returns the shape of a @ b, to which `self` must expand.
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    using D = typename Arguments::Dim;
    ABSL_ASSIGN_OR_RETURN(Dims<D> shape,
                          (ProductShape<kForm, D>(Arguments::SizesOf(a), Arguments::SizesOf(b))));
    ABSL_RETURN_IF_ERROR(CheckExpandable<D>("self", Arguments::SizesOf(self), shape));
    return shape;
  }
};

// _grouped_mm with rows sorted by group: [t,k] x [g,k,n] -> [t,n]. Each row is multiplied by the
// matrix of its group. Group i ends before row offsets[i]; rows after the last group are 0.
template <class Arguments>
struct GroupedProductCall {
  typename Arguments::TensorRef a, b, offsets;

  // kUnimplemented for operands of other ranks, and for what PyTorch also rejects: a bias, and a
  // result of another dtype.
  static absl::StatusOr<GroupedProductCall> Read(const Arguments& arguments) {
    GroupedProductCall call;
    ABSL_ASSIGN_OR_RETURN(call.a, arguments.Tensor("self", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.b, arguments.Tensor("mat2", DTypeSet{call.a->dtype}));
    ABSL_ASSIGN_OR_RETURN(call.offsets,
                          arguments.OptionalTensor("offs", {DType::kInt32, DType::kInt64}));
    ABSL_ASSIGN_OR_RETURN(const DType result, arguments.DtypeOr("out_dtype", call.a->dtype));
    std::string_view missing;
    if (call.offsets == nullptr || call.a->rank() != 2 || call.b->rank() != 3) {
      missing = "groups other than rows of a matrix";
    } else if (!arguments.IsNone("bias")) {
      missing = "a bias";
    } else if (result != call.a->dtype) {
      missing = "a result of another dtype";
    }
    if (missing.empty()) return call;
    return absl::UnimplementedError(absl::StrCat("_grouped_mm: ", missing));
  }
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    using D = typename Arguments::Dim;
    const Dims<D> rows = Arguments::SizesOf(a), matrices = Arguments::SizesOf(b),
                  ends = Arguments::SizesOf(offsets);
    if (ends.size() != 1 || KnownDifferent(ends[0], matrices[0]) ||
        KnownDifferent(rows[1], matrices[1])) {
      return absl::InvalidArgumentError(absl::StrCat(
          "_grouped_mm: shapes ", FormatDims<D>(rows), " and ", FormatDims<D>(matrices),
          " with offsets ", FormatDims<D>(ends), " cannot be multiplied"));
    }
    Dims<D> out;
    out.push_back(rows[0]);
    out.push_back(matrices[2]);
    return out;
  }
};

// _trilinear: inserts new dimensions into three operands at `expand`, broadcasts, multiplies and
// sums.
template <class Arguments>
struct TrilinearCall {
  typename Arguments::TensorRef operands[3];  // of one dtype
  Sizes expand[3];
  int rank = 0;         // of the expanded operands
  uint32_t summed = 0;  // bits of the dimensions that are summed

  static absl::StatusOr<TrilinearCall> Read(const Arguments& arguments) {
    constexpr std::string_view kNames[] = {"i1", "i2", "i3"},
                               kExpand[] = {"expand1", "expand2", "expand3"};
    TrilinearCall call;
    for (int i = 0; i < 3; ++i) {
      ABSL_ASSIGN_OR_RETURN(
          call.operands[i],
          arguments.Tensor(kNames[i], i == 0 ? kFloatTypes : DTypeSet{call.operands[0]->dtype}));
      ABSL_ASSIGN_OR_RETURN(call.expand[i], arguments.StaticIntList(kExpand[i]));
    }
    call.rank = call.operands[0]->rank() + static_cast<int>(call.expand[0].size());
    ABSL_RETURN_IF_ERROR(CheckRank(call.rank));
    ABSL_ASSIGN_OR_RETURN(const Sizes sum, arguments.StaticIntList("sumdim"));
    ABSL_ASSIGN_OR_RETURN(call.summed, DimMask(sum, call.rank));
    ABSL_ASSIGN_OR_RETURN(const int64_t unrolled, arguments.StaticInt("unroll_dim"));
    ABSL_RETURN_IF_ERROR(CheckUnrolledDim(unrolled, call.rank));
    return call;
  }
  // Returns the sizes of operand `i` with its new dimensions.
  absl::StatusOr<Dims<typename Arguments::Dim>> Expanded(int i) const {
    return ExpandedShape<typename Arguments::Dim>(Arguments::SizesOf(operands[i]), expand[i], rank);
  }
  // Returns the broadcast shape of all operands: the result's dimensions and the summed ones.
  absl::StatusOr<Dims<typename Arguments::Dim>> Broadcast() const {
    using D = typename Arguments::Dim;
    ABSL_ASSIGN_OR_RETURN(Dims<D> sizes, Expanded(0));
    for (int i = 1; i < 3; ++i) {
      ABSL_ASSIGN_OR_RETURN(const Dims<D> expanded, Expanded(i));
      ABSL_ASSIGN_OR_RETURN(sizes, BroadcastShape<D>(sizes, expanded));
    }
    return sizes;
  }
};

inline constexpr DTypeSet kDistanceTypes = {DType::kFloat32, DType::kFloat64};

// Reads the order p of a distance's p-norm: p >= 0, including infinity.
template <class Arguments>
absl::StatusOr<double> ReadDistanceOrder(const Arguments& arguments) {
  ABSL_ASSIGN_OR_RETURN(const double p, arguments.Double("p"));
  if (p >= 0) return p;
  return absl::InvalidArgumentError(absl::StrCat("p: expected at least 0, got ", p));
}

// _cdist_forward.
template <class Arguments>
struct CdistCall {
  typename Arguments::TensorRef x1, x2;  // of one dtype
  double p = 2;

  static absl::StatusOr<CdistCall> Read(const Arguments& arguments) {
    CdistCall call;
    ABSL_ASSIGN_OR_RETURN(call.x1, arguments.Tensor("x1", kDistanceTypes));
    ABSL_ASSIGN_OR_RETURN(call.x2, arguments.Tensor("x2", DTypeSet{call.x1->dtype}));
    ABSL_ASSIGN_OR_RETURN(call.p, ReadDistanceOrder(arguments));
    ABSL_ASSIGN_OR_RETURN(const std::optional<int64_t> mode, arguments.OptionalInt("compute_mode"));
    if (!mode.has_value() || (*mode >= 0 && *mode <= 2)) return call;
    return absl::InvalidArgumentError(
        absl::StrCat("compute_mode: expected 0, 1 or 2, got ", *mode));
  }
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    return CdistShape<typename Arguments::Dim>(Arguments::SizesOf(x1), Arguments::SizesOf(x2));
  }
};

// _pdist_forward.
template <class Arguments>
struct PdistCall {
  typename Arguments::TensorRef self;
  double p = 2;

  static absl::StatusOr<PdistCall> Read(const Arguments& arguments) {
    PdistCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self", kDistanceTypes));
    ABSL_ASSIGN_OR_RETURN(call.p, ReadDistanceOrder(arguments));
    return call;
  }
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    return PdistShape<typename Arguments::Dim>(Arguments::SizesOf(self));
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_MATMUL_H_
