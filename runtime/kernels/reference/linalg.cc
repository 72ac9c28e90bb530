// Products of matrices and vectors: one loop for all, over batches of strided matrices.

#include <algorithm>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/shape_rules/matmul.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

constexpr DTypeSet kMatrixTypes = kIntegralTypes | kFloatTypes | kComplexTypes;

// Sums of integers wrap; all others are computed in double precision.
template <class T>
using Accumulator = std::conditional_t<kIsComplex<T>, std::complex<double>,
                                       std::conditional_t<std::is_integral_v<T>, uint64_t, double>>;

// A batch of matrices by the strides of its three dimensions.
struct Matrices {
  void* data = nullptr;
  int64_t batch = 0, row = 0, column = 0;
};

struct Product {
  DType dtype = DType::kFloat32;
  int64_t batches = 1, rows = 1, columns = 1, depth = 1;
  Matrices a, b, addend, out;
  // beta * addend + alpha * a * b. Not taken: alpha is 1 and there is no addend.
  EValue alpha = EValue(int64_t{1}), beta = EValue(int64_t{0});
};

template <class Acc>
Acc ScaleFrom(const EValue& value) {
  if (const int64_t* i = value.get_if<int64_t>()) return ConvertElement<Acc>(*i);
  if (const bool* b = value.get_if<bool>()) return ConvertElement<Acc>(*b);
  if (const double* d = value.get_if<double>()) return ConvertElement<Acc>(*d);
  const std::complex<double>* c = value.get_if<std::complex<double>>();
  return c == nullptr ? Acc() : ConvertElement<Acc>(*c);
}

template <class T>
void Multiply(const Product& p) {
  using Acc = Accumulator<T>;
  constexpr int64_t kTile = 64;
  const Acc alpha = ScaleFrom<Acc>(p.alpha), beta = ScaleFrom<Acc>(p.beta);
  // As in BLAS, a factor of zero leaves its operand out, NaN or not.
  const bool add = p.addend.data != nullptr && beta != Acc();
  const int64_t depth = alpha == Acc() ? 0 : p.depth;
  for (int64_t n = 0; n < p.batches; ++n) {
    for (int64_t i = 0; i < p.rows; ++i) {
      // Without depth there are no elements, and perhaps no memory to point into.
      const T* a =
          depth == 0 ? nullptr : static_cast<const T*>(p.a.data) + n * p.a.batch + i * p.a.row;
      for (int64_t j0 = 0; j0 < p.columns; j0 += kTile) {
        const int64_t width = std::min(kTile, p.columns - j0);
        const T* b = depth == 0 ? nullptr
                                : static_cast<const T*>(p.b.data) + n * p.b.batch + j0 * p.b.column;
        Acc sum[kTile] = {};
        for (int64_t k = 0; k < depth; ++k, b += p.b.row) {
          const Acc x = ConvertElement<Acc>(a[k * p.a.column]);
          if (p.b.column == 1) {
            for (int64_t j = 0; j < width; ++j) sum[j] += x * ConvertElement<Acc>(b[j]);
          } else {
            for (int64_t j = 0; j < width; ++j) {
              sum[j] += x * ConvertElement<Acc>(b[j * p.b.column]);
            }
          }
        }
        T* out = static_cast<T*>(p.out.data) + n * p.out.batch + i * p.out.row + j0 * p.out.column;
        const int64_t offset = n * p.addend.batch + i * p.addend.row + j0 * p.addend.column;
        for (int64_t j = 0; j < width; ++j) {
          Acc value = alpha * sum[j];
          if (add) {
            const T* addend = static_cast<const T*>(p.addend.data) + offset;
            value += beta * ConvertElement<Acc>(addend[j * p.addend.column]);
          }
          out[j * p.out.column] = ConvertElement<T>(value);
        }
      }
    }
  }
}

// The strides of a tensor whose last dimensions are `rank` dimensions of [batch, row, column]; a
// missing one repeats, as does one of size 1, so that what is broadcast is, too. `last` is the
// position of the tensor's last dimension among the three.
Matrices MatricesOf(const TensorView& t, int last) {
  Matrices m;
  m.data = t.data;
  int64_t strides[3] = {};
  for (int d = t.rank() - 1, k = last; d >= 0 && k >= 0; --d, --k) {
    strides[k] = t.sizes[d] == 1 ? 0 : t.strides[d];
  }
  m.batch = strides[0];
  m.row = strides[1];
  m.column = strides[2];
  return m;
}

// The factor in argument `i`, in the kind of number that the arithmetic takes: an integer for
// integers, whose fraction is cut off.
absl::StatusOr<EValue> ScaleOf(const KernelContext& context, int i, DType dtype) {
  ABSL_ASSIGN_OR_RETURN(const EValue value, context.Scalar(i));
  if (IsComplex(dtype) || (dtype == DType::kInt64 && value.is<int64_t>())) return value;
  ABSL_ASSIGN_OR_RETURN(const double real, context.Double(i));
  if (!IsIntegral(dtype, false)) return EValue(real);
  ABSL_RETURN_IF_ERROR(CheckIntegerFactor(absl::StrCat("argument ", i), dtype, real));
  return EValue(static_cast<int64_t>(real));
}

enum class Form { kMm, kBmm, kMv, kDot };

absl::StatusOr<Dims<CheckedInt>> ShapeOf(Form form, const TensorView& a, const TensorView& b) {
  const Dims<CheckedInt> x = ToDims(a.sizes), y = ToDims(b.sizes);
  switch (form) {
    case Form::kMm:
      return MatMulShape<CheckedInt>(x, y, 0);
    case Form::kBmm:
      return MatMulShape<CheckedInt>(x, y, 1);
    case Form::kMv:
      return MatVecShape<CheckedInt>(x, y);
    case Form::kDot:
      return DotShape<CheckedInt>(x, y);
  }
  return absl::InternalError("no such form");
}

// Without `kScaled`: (a, b). With it: (addend, a, b, beta, alpha).
template <Form kForm, bool kScaled>
absl::Status MultiplyKernel(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(kScaled ? 5 : 2, 1));
  constexpr int kFirst = kScaled ? 1 : 0;
  ABSL_ASSIGN_OR_RETURN(const TensorView* a,
                        TensorOf(context, kFirst, "first factor", kMatrixTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorView* b,
                        TensorOf(context, kFirst + 1, "second factor", a->dtype));
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, ShapeOf(kForm, *a, *b));
  Product p;
  p.dtype = a->dtype;
  const TensorView* addend = nullptr;
  if (kScaled) {
    ABSL_ASSIGN_OR_RETURN(addend, TensorOf(context, 0, "self", a->dtype));
    ABSL_RETURN_IF_ERROR(CheckExpandable<CheckedInt>("self", ToDims(addend->sizes), shape));
    ABSL_ASSIGN_OR_RETURN(p.beta, ScaleOf(context, 3, a->dtype));
    ABSL_ASSIGN_OR_RETURN(p.alpha, ScaleOf(context, 4, a->dtype));
  }
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, a->dtype, shape));

  if (out->numel() == 0) return absl::OkStatus();  // of however many rows
  // The vector of a product with a matrix is one column; a dot product is a row times a column.
  constexpr bool kVector = kForm == Form::kMv || kForm == Form::kDot;
  p.a = MatricesOf(*a, 2);
  p.b = MatricesOf(*b, kVector ? 1 : 2);
  p.out = MatricesOf(*out, kVector ? 1 : 2);
  if (kScaled) p.addend = MatricesOf(*addend, kVector ? 1 : 2);
  p.depth = a->sizes.back();
  if (kForm != Form::kDot) p.rows = a->sizes[a->rank() - 2];
  if (!kVector) p.columns = b->sizes.back();
  if (kForm == Form::kBmm) p.batches = a->sizes[0];
  DispatchDType<kMatrixTypes>(p.dtype, [&](auto tag) { Multiply<CppType<tag.value>>(p); });
  return absl::OkStatus();
}

// One operand of _trilinear over the dimensions to which all broadcast.
absl::StatusOr<TensorView> Expanded(const KernelContext& context, int i, DType dtype, int rank) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* t, TensorOf(context, i, "operand", dtype));
  ABSL_ASSIGN_OR_RETURN(const Sizes expand, context.IntList(3 + i));
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims,
                        ExpandedShape<CheckedInt>(ToDims(t->sizes), expand, rank));
  TensorView view = *t;
  view.strides.clear();
  view.sizes.clear();
  int next = 0;
  for (int d = 0; d < rank; ++d) {
    const bool added = std::find(expand.begin(), expand.end(), d) != expand.end();
    view.sizes.push_back(dims[d].value());
    view.strides.push_back(added || dims[d] == 1 ? 0 : t->strides[next]);
    if (!added) ++next;
  }
  return view;
}

absl::Status Trilinear(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(8, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* first, TensorOf(context, 0, "i1", kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const Sizes expand, context.IntList(3));
  const int rank = first->rank() + expand.size();
  ABSL_ASSIGN_OR_RETURN(const TensorView x, Expanded(context, 0, first->dtype, rank));
  ABSL_ASSIGN_OR_RETURN(const TensorView y, Expanded(context, 1, first->dtype, rank));
  ABSL_ASSIGN_OR_RETURN(const TensorView z, Expanded(context, 2, first->dtype, rank));
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> xy,
                        BroadcastShape<CheckedInt>(ToDims(x.sizes), ToDims(y.sizes)));
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> xyz,
                        BroadcastShape<CheckedInt>(xy, ToDims(z.sizes)));
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(xyz));
  ABSL_ASSIGN_OR_RETURN(const Sizes sum_dims, context.IntList(6));
  ABSL_ASSIGN_OR_RETURN(const uint32_t summed, DimMask(sum_dims, rank));
  ABSL_ASSIGN_OR_RETURN(const int64_t unrolled, context.Int(7));
  ABSL_RETURN_IF_ERROR(CheckUnrolledDim(unrolled, rank));

  // Dimensions that stay, and those that are summed over: x, y, z, out.
  Sizes kept_sizes, sum_sizes;
  Strides kept[4], sum[3];
  Dims<CheckedInt> out_dims;
  for (int d = 0; d < rank; ++d) {
    const bool fold = (summed >> d & 1) != 0;
    (fold ? sum_sizes : kept_sizes).push_back(sizes[d]);
    (fold ? sum[0] : kept[0]).push_back(x.strides[d]);
    (fold ? sum[1] : kept[1]).push_back(y.strides[d]);
    (fold ? sum[2] : kept[2]).push_back(z.strides[d]);
    if (!fold) out_dims.push_back(sizes[d]);
  }
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, first->dtype, out_dims));
  ABSL_RETURN_IF_ERROR(CheckBroadcastSteps("_trilinear", sizes));
  kept[3] = out->strides;
  DispatchDType<kFloatTypes>(first->dtype, [&](auto tag) {
    using T = CppType<tag.value>;
    for (StridedIterator<4> o(kept_sizes, {kept[0], kept[1], kept[2], kept[3]}); !o.done();
         o.Next()) {
      double total = 0;
      for (StridedIterator<3> s(sum_sizes, {sum[0], sum[1], sum[2]}); !s.done(); s.Next()) {
        total += ConvertElement<double>(x.as<T>()[o.offset(0) + s.offset(0)]) *
                 ConvertElement<double>(y.as<T>()[o.offset(1) + s.offset(1)]) *
                 ConvertElement<double>(z.as<T>()[o.offset(2) + s.offset(2)]);
      }
      out->as<T>()[o.offset(3)] = ConvertElement<T>(total);
    }
  });
  return absl::OkStatus();
}

constexpr KernelEngine kReference = KernelEngine::kReference;

constexpr Kernel kKernels[] = {
    {"aten.mm.default", "Mm", kReference, &MultiplyKernel<Form::kMm, false>},
    {"aten.bmm.default", "Bmm", kReference, &MultiplyKernel<Form::kBmm, false>},
    {"aten.mv.default", "Mv", kReference, &MultiplyKernel<Form::kMv, false>},
    {"aten.dot.default", "Dot", kReference, &MultiplyKernel<Form::kDot, false>},
    {"aten.addmm.default", "Addmm", kReference, &MultiplyKernel<Form::kMm, true>},
    {"aten.baddbmm.default", "Baddbmm", kReference, &MultiplyKernel<Form::kBmm, true>},
    {"aten.addmv.default", "Addmv", kReference, &MultiplyKernel<Form::kMv, true>},
    {"aten._trilinear.default", "Trilinear", kReference, &Trilinear},
};

}  // namespace

absl::Span<const Kernel> LinalgKernels() { return kKernels; }

}  // namespace belay
