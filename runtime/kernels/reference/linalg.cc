// GEMM and matrix-vector products: one loop over batches of strided matrices.

#include <algorithm>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "runtime/core/budget.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/matmul.h"
#include "runtime/kernels/operands/grouped_rows.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

// Accumulator type. Integers wrap; all others are computed in double precision.
template <class T>
using Accumulator = std::conditional_t<kIsComplex<T>, std::complex<double>,
                                       std::conditional_t<std::is_integral_v<T>, uint64_t, double>>;

// A batch of matrices, with a stride for each of its three dimensions.
struct Matrices {
  void* data = nullptr;
  int64_t batch = 0, row = 0, column = 0;
};

struct Product {
  DType dtype = DType::kFloat32;
  int64_t batches = 1, rows = 1, columns = 1, depth = 1;
  Matrices a, b, addend, out;
  ProductFactor alpha, beta;  // alpha * a * b, and beta * addend if there is one
};

template <class Acc>
Acc ScaleFrom(const ProductFactor& factor) {
  if constexpr (std::is_integral_v<Acc>) return static_cast<Acc>(factor.integer);
  return ConvertElement<Acc>(factor.number);
}

template <class T>
void Multiply(const Product& p) {
  using Acc = Accumulator<T>;
  constexpr int64_t kTile = 64;
  const Acc alpha = ScaleFrom<Acc>(p.alpha), beta = ScaleFrom<Acc>(p.beta);
  // As in BLAS, a factor of zero removes its operand, even if that has NaN.
  const bool add = p.addend.data != nullptr && beta != Acc();
  const int64_t depth = alpha == Acc() ? 0 : p.depth;
  Budget::Pace pace;
  for (int64_t n = 0; n < p.batches; ++n) {
    for (int64_t i = 0; i < p.rows; ++i) {
      // If the depth is 0, the matrix has no elements, and data may be null.
      const T* a =
          depth == 0 ? nullptr : static_cast<const T*>(p.a.data) + n * p.a.batch + i * p.a.row;
      for (int64_t j0 = 0; j0 < p.columns; j0 += kTile) {
        if (pace.Stop(kTile * (depth + 1))) return;
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

// Maps the last dimensions of a tensor to [batch, row, column]. A missing dimension, or one of size
// 1, repeats with stride 0, which implements broadcasting. `last` is the position of the tensor's
// last dimension among the three.
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

// Without `kScaled`: a b. With `kScaled`: beta * self + alpha * a b.
template <ProductForm kForm, bool kScaled>
using CallOf = std::conditional_t<kScaled, ScaledSumCall<KernelArguments, kForm>,
                                  ProductCall<KernelArguments, kForm>>;

template <ProductForm kForm, bool kScaled>
absl::Status MultiplyKernel(KernelContext& context, const CallOf<kForm, kScaled>& call) {
  const TensorView *const a = call.a, *const b = call.b;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  Product p;
  p.dtype = a->dtype;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, a->dtype, shape));

  if (out->numel() == 0) return absl::OkStatus();  // any number of rows
  // The vector of a matrix-vector product is one column; a dot product is a row times a column.
  constexpr bool kVector = kForm == ProductForm::kMv || kForm == ProductForm::kDot;
  p.a = MatricesOf(*a, 2);
  p.b = MatricesOf(*b, kVector ? 1 : 2);
  p.out = MatricesOf(*out, kVector ? 1 : 2);
  if constexpr (kScaled) {
    p.addend = MatricesOf(*call.self, kVector ? 1 : 2);
    p.beta = call.beta;
    p.alpha = call.alpha;
  }
  p.depth = a->sizes.back();
  if (kForm != ProductForm::kDot) p.rows = a->sizes[a->rank() - 2];
  if (!kVector) p.columns = b->sizes.back();
  if (kForm == ProductForm::kBmm) p.batches = a->sizes[0];
  DispatchDType<kMatrixTypes>(p.dtype, [&](auto tag) { Multiply<CppType<tag.value>>(p); });
  return absl::OkStatus();
}

absl::Status GroupedMultiply(KernelContext& context,
                             const GroupedProductCall<KernelArguments>& call) {
  const TensorView &a = *call.a, &b = *call.b;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, a.dtype, shape));
  if (out->numel() == 0) return absl::OkStatus();
  return ForEachGroup(*call.offsets, a.sizes[0], [&](int64_t group, int64_t first, int64_t end) {
    Product p;
    p.a = MatricesOf(RowsOf(a, first, end), 2);
    p.b = MatricesOf(b, 2);
    p.out = MatricesOf(RowsOf(*out, first, end), 2);
    p.rows = end - first;
    p.columns = b.sizes[2];
    p.depth = group < 0 ? 0 : a.sizes[1];
    if (p.depth != 0) p.b.data = ElementAddress(b, group * b.strides[0]);
    DispatchDType<kFloatTypes>(a.dtype, [&](auto tag) { Multiply<CppType<tag.value>>(p); });
  });
}

// Returns operand `i` of _trilinear, broadcast to the common dimensions.
absl::StatusOr<TensorView> Expanded(const TrilinearCall<KernelArguments>& call, int i) {
  const TensorView& t = *call.operands[i];
  const Sizes& expand = call.expand[i];
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims, call.Expanded(i));
  TensorView view = t;
  view.strides.clear();
  view.sizes.clear();
  int next = 0;
  for (int d = 0; d < call.rank; ++d) {
    const bool added = std::find(expand.begin(), expand.end(), d) != expand.end();
    view.sizes.push_back(dims[d].value());
    view.strides.push_back(added || dims[d] == 1 ? 0 : t.strides[next]);
    if (!added) ++next;
  }
  return view;
}

absl::Status Trilinear(KernelContext& context, const TrilinearCall<KernelArguments>& call) {
  const DType dtype = call.operands[0]->dtype;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims, call.Broadcast());
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(dims));
  ABSL_ASSIGN_OR_RETURN(const TensorView x, Expanded(call, 0));
  ABSL_ASSIGN_OR_RETURN(const TensorView y, Expanded(call, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView z, Expanded(call, 2));

  // Kept and summed dimensions; strides of x, y, z, out.
  Sizes kept_sizes, sum_sizes;
  Strides kept[4], sum[3];
  Dims<CheckedInt> out_dims;
  for (int d = 0; d < call.rank; ++d) {
    const bool fold = (call.summed >> d & 1) != 0;
    (fold ? sum_sizes : kept_sizes).push_back(sizes[d]);
    (fold ? sum[0] : kept[0]).push_back(x.strides[d]);
    (fold ? sum[1] : kept[1]).push_back(y.strides[d]);
    (fold ? sum[2] : kept[2]).push_back(z.strides[d]);
    if (!fold) out_dims.push_back(sizes[d]);
  }
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, out_dims));
  ABSL_RETURN_IF_ERROR(CheckBroadcastSteps("_trilinear", sizes));
  kept[3] = out->strides;
  int64_t summed = 1;  // per element of the result
  for (const int64_t size : sum_sizes) summed *= size;
  Budget::Pace pace;
  DispatchDType<kFloatTypes>(dtype, [&](auto tag) {
    using T = CppType<tag.value>;
    for (StridedIterator<4> o(kept_sizes, {kept[0], kept[1], kept[2], kept[3]}); !o.done();
         o.Next()) {
      if (pace.Stop(summed)) return;
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
    KernelRow<&MultiplyKernel<ProductForm::kMm, false>>("aten.mm.default", "self mat2", "Mm",
                                                        kReference),
    KernelRow<&MultiplyKernel<ProductForm::kBmm, false>>("aten.bmm.default", "self mat2", "Bmm",
                                                         kReference),
    KernelRow<&MultiplyKernel<ProductForm::kMv, false>>("aten.mv.default", "self vec", "Mv",
                                                        kReference),
    KernelRow<&MultiplyKernel<ProductForm::kDot, false>>("aten.dot.default", "self tensor", "Dot",
                                                         kReference),
    KernelRow<&MultiplyKernel<ProductForm::kMm, true>>(
        "aten.addmm.default", "self mat1 mat2 beta alpha", "Addmm", kReference),
    KernelRow<&MultiplyKernel<ProductForm::kBmm, true>>(
        "aten.baddbmm.default", "self batch1 batch2 beta alpha", "Baddbmm", kReference),
    KernelRow<&MultiplyKernel<ProductForm::kMv, true>>(
        "aten.addmv.default", "self mat vec beta alpha", "Addmv", kReference),
    KernelRow<&GroupedMultiply>("aten._grouped_mm.default", "self mat2 offs bias out_dtype",
                                "GroupedMm", kReference),
    KernelRow<&Trilinear>("aten._trilinear.default",
                          "i1 i2 i3 expand1 expand2 expand3 sumdim unroll_dim", "Trilinear",
                          kReference),
};

}  // namespace

absl::Span<const Kernel> LinalgKernels() { return kKernels; }

}  // namespace belay
