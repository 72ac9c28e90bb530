// mm, bmm, addmm and _grouped_mm. float32 matrices with contiguous rows are read in place.
// Otherwise the left operand is copied and the right one is packed a few panels at a time.
#include <algorithm>
#include <optional>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/matmul.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/gemm/factors.h"
#include "runtime/kernels/gemm/gemm.h"
#include "runtime/kernels/operands/grouped_rows.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/operands/strided_view.h"

namespace belay {
namespace {

constexpr DTypeSet kTypes = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

bool HasRows(const TensorView& t) {
  const int last = t.rank() - 1;
  return t.dtype == DType::kFloat32 && (t.strides[last] == 1 || t.sizes[last] == 1);
}

// Packs a panel of columns of a matrix without contiguous float rows.
void PackStrided(const void* source, size_t first, size_t count, size_t stride, float* panel) {
  const TensorView& b = *static_cast<const TensorView*>(source);
  TensorView from = b, to;
  from.data = ElementAddress(b, static_cast<int64_t>(first) * b.strides[1]);
  from.sizes[1] = static_cast<int64_t>(count);
  to.sizes = from.sizes;
  to.strides = {static_cast<int64_t>(stride), 1};
  to.data = panel;
  CopyConvertible(from, to);
}

// Operands of a call: alpha * a b + beta * addend.
struct Product {
  const TensorView *a = nullptr, *b = nullptr;
  const TensorView* addend = nullptr;  // null if not used
  float alpha = 1, beta = 1;
};

// Parts of the scratch memory, in floats: panels per thread; copies of A and C, one for each matrix
// that is computed at a time. Copies that are not needed are empty.
struct Scratch {
  uint64_t panels = 0, a = 0, c = 0;
  uint64_t threads = 1, copies = 1;
  float* PanelsOf(float* scratch, int thread) const {
    return scratch + panels * static_cast<uint64_t>(thread);
  }
  float* CopiesOf(float* scratch, int copy) const {
    return scratch + panels * threads + (a + c) * static_cast<uint64_t>(copy);
  }
  uint64_t total() const { return panels * threads + (a + c) * copies; }
};

// Whether the addend is a row that the GEMM adds as column bias.
bool IsColumnBias(const TensorView& addend, int64_t columns, float beta) {
  return addend.rank() == 1 && addend.sizes[0] == columns && addend.dtype == DType::kFloat32 &&
         addend.strides[0] == 1 && beta == 1;
}

Scratch ScratchFor(const KernelContext& context, const TensorView& a, const TensorView& b,
                   const TensorView& out) {
  const int last = a.rank() - 1;
  const uint64_t m = static_cast<uint64_t>(a.sizes[last - 1]),
                 k = static_cast<uint64_t>(a.sizes[last]),
                 n = static_cast<uint64_t>(b.sizes[b.rank() - 1]);
  Scratch s;
  s.panels = PanelsSize(k, n);
  s.threads = static_cast<uint64_t>(context.num_threads());
  if (a.rank() == 3) s.copies = std::min(s.threads, static_cast<uint64_t>(a.sizes[0]));
  if (!HasRows(a)) s.a = m * k;
  if (!HasRows(out)) s.c = m * n;
  return s;
}

// Operands of one matrix that are read and written in place.
PackedGemmArgs ArgsInPlace(const Product& p, const TensorView& left, const TensorView& right,
                           const TensorView& result) {
  PackedGemmArgs args;
  args.m = static_cast<size_t>(left.sizes[0]);
  args.n = static_cast<size_t>(right.sizes[1]);
  args.k = static_cast<size_t>(left.sizes[1]);
  args.alpha = p.alpha;
  args.a = left.as<const float>();
  args.lda = static_cast<size_t>(left.strides[0]);
  args.b = right.as<const float>();
  args.ldb = static_cast<size_t>(right.strides[0]);
  args.c = result.as<float>();
  args.ldc = static_cast<size_t>(result.strides[0]);
  return args;
}

// Computes one matrix of the result. `addend` has its sizes, or is a column bias, or null. `thread`
// is its thread and the number of its copies; without one, all threads compute it.
void MultiplyMatrices(const KernelContext& context, const Product& p, const TensorView* addend,
                      const TensorView& left, const TensorView& right, const TensorView& result,
                      const Scratch& parts, float* scratch, std::optional<int> thread) {
  float* const a_copy = parts.CopiesOf(scratch, thread.value_or(0));
  PackedGemmArgs args = ArgsInPlace(p, left, right, result);
  args.panels = parts.PanelsOf(scratch, thread.value_or(0));
  if (parts.a != 0) {
    CopyConvertible(left, TensorView::Contiguous(DType::kFloat32, left.sizes, a_copy));
    args.a = a_copy;
    args.lda = args.k;
  }
  if (!HasRows(right)) {
    args.b = nullptr;
    args.ldb = 0;
    args.pack = &PackStrided;
    args.pack_source = &right;
  }
  if (parts.c != 0) {
    args.c = a_copy + parts.a;
    args.ldc = args.n;
  }
  if (addend != nullptr && addend->rank() == 1) {
    args.epilogue.bias = addend->as<const float>();
  } else if (addend != nullptr) {
    TensorView c = TensorView::Contiguous(DType::kFloat32, result.sizes, args.c);
    c.strides[0] = static_cast<int64_t>(args.ldc);
    CopyConvertible(*addend, c);
    for (size_t r = 0; r < args.m && p.beta != 1; ++r) {
      for (size_t j = 0; j < args.n; ++j) args.c[r * args.ldc + j] *= p.beta;
    }
    args.epilogue.other = args.c;
  }
  if (thread.has_value()) {
    GemmOnThread(args);
  } else {
    Gemm(context, args);
  }
  if (parts.c == 0) return;
  CopyConvertible(TensorView::Contiguous(DType::kFloat32, result.sizes, args.c), result);
}

absl::StatusOr<const TensorView*> ResultOf(KernelContext& context, const Product& p,
                                           int batch_dims) {
  ABSL_ASSIGN_OR_RETURN(
      const Dims<CheckedInt> shape,
      MatMulShape<CheckedInt>(ToDims(p.a->sizes), ToDims(p.b->sizes), batch_dims));
  return OutputOf(context, 0, p.a->dtype, shape);
}

// Writes the product to `out`, which has its sizes and may be the addend.
absl::Status MultiplyInto(const KernelContext& context, const Product& p, int batch_dims,
                          const TensorView* out) {
  const TensorView &a = *p.a, &b = *p.b;
  TensorView addend;
  if (p.addend != nullptr) {
    ABSL_ASSIGN_OR_RETURN(addend, ExpandTo(*p.addend, out->sizes));
    if (IsColumnBias(*p.addend, out->sizes[1], p.beta)) addend = *p.addend;
  }
  if (out->numel() == 0) return absl::OkStatus();
  const Scratch parts = ScratchFor(context, a, b, *out);
  ABSL_ASSIGN_OR_RETURN(float* scratch,
                        ScratchArray<float>(context, static_cast<int64_t>(parts.total())));
  // Computes matrices [first, last) of the result.
  const auto multiply = [&](int64_t first, int64_t last, std::optional<int> thread) {
    TensorView left = MatrixOf(a, first), right = MatrixOf(b, first),
               result = MatrixOf(*out, first);
    if (thread.has_value() && parts.a + parts.c == 0 && p.addend == nullptr && HasRows(right)) {
      PackedGemmArgs args = ArgsInPlace(p, left, right, result);
      args.panels = parts.PanelsOf(scratch, *thread);
      for (int64_t i = 0; i < last - first; ++i) {
        args.a = left.as<const float>() + i * a.strides[0];
        args.b = right.as<const float>() + i * b.strides[0];
        args.c = result.as<float>() + i * out->strides[0];
        GemmOnThread(args);
      }
      return;
    }
    for (int64_t i = first; i < last; ++i) {
      const TensorView mine = batch_dims == 0 || p.addend == nullptr ? addend : MatrixOf(addend, i);
      MultiplyMatrices(context, p, p.addend == nullptr ? nullptr : &mine, left, right, result,
                       parts, scratch, thread);
      if (i + 1 == last) break;
      left.data = PartAddress(left, a.strides[0]);
      right.data = PartAddress(right, b.strides[0]);
      result.data = PartAddress(result, out->strides[0]);
    }
  };
  const int64_t batches = batch_dims == 0 ? 1 : a.sizes[0];
  if (batches == 1) {
    multiply(0, 1, std::nullopt);
    return absl::OkStatus();
  }
  const double work = static_cast<double>(out->numel()) * static_cast<double>(a.sizes[2]);
  RunRanges(context, batches, 1, work,
            [&](int thread, int64_t first, int64_t last) { multiply(first, last, thread); });
  return absl::OkStatus();
}

absl::Status Multiply(KernelContext& context, const Product& p, int batch_dims) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, ResultOf(context, p, batch_dims));
  return MultiplyInto(context, p, batch_dims, out);
}

// (a + i b)(c + i d) = (a c - b d) + i (a d + b c), by four products of strided parts.
absl::Status MultiplyComplex(KernelContext& context, const Product& p, int batch_dims) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, ResultOf(context, p, batch_dims));
  for (int part : {0, 1}) {
    const TensorView result = PartsOf(*out, part);
    for (int k : {0, 1}) {
      const TensorView a = PartsOf(*p.a, k), b = PartsOf(*p.b, part ^ k);
      const Product product = {.a = &a,
                               .b = &b,
                               .addend = k == 0 ? nullptr : &result,
                               .alpha = k == 1 && part == 0 ? -1.0f : 1.0f};
      ABSL_RETURN_IF_ERROR(MultiplyInto(context, product, batch_dims, &result));
    }
  }
  return absl::OkStatus();
}

constexpr ProductForm kMm = ProductForm::kMm, kBmm = ProductForm::kBmm;
using AddmmCall = ScaledSumCall<KernelArguments, kMm>;

template <ProductForm kForm>
absl::Status Plain(KernelContext& context, const ProductCall<KernelArguments, kForm>& call) {
  const Product p = {.a = call.a, .b = call.b};
  return (call.a->dtype == DType::kComplex64 ? &MultiplyComplex : &Multiply)(context, p,
                                                                             kForm == kBmm ? 1 : 0);
}

absl::Status Addmm(KernelContext& context, const AddmmCall& call) {
  Product p = {.a = call.a, .b = call.b, .addend = call.self};
  p.beta = static_cast<float>(call.beta.number.real());
  p.alpha = static_cast<float>(call.alpha.number.real());
  // As in BLAS, a factor of zero removes its operand, even if that has NaN. Its shape must still
  // fit.
  if (call.alpha.number == 0.0)
    return absl::InternalError("the call changed after the kernel was chosen");
  if (call.beta.number == 0.0) {
    ABSL_RETURN_IF_ERROR(call.Shape().status());
    p.addend = nullptr;
  }
  return Multiply(context, p, 0);
}

absl::Status GroupedMm(KernelContext& context, const GroupedProductCall<KernelArguments>& call) {
  const TensorView &a = *call.a, &b = *call.b;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, a.dtype, shape));
  if (out->numel() == 0) return absl::OkStatus();
  const Scratch parts = ScratchFor(context, a, b, *out);
  ABSL_ASSIGN_OR_RETURN(float* scratch,
                        ScratchArray<float>(context, static_cast<int64_t>(parts.total())));
  const Product p = {.a = &a, .b = &b};
  return ForEachGroup(*call.offsets, a.sizes[0], [&](int64_t group, int64_t first, int64_t end) {
    TensorView left = RowsOf(a, first, end), right = MatrixOf(b, std::max<int64_t>(group, 0));
    if (group < 0) left.sizes[1] = right.sizes[0] = 0;  // empty sums
    MultiplyMatrices(context, p, nullptr, left, right, RowsOf(*out, first, end), parts, scratch,
                     std::nullopt);
  });
}

template <ProductForm kForm>
bool AcceptsPlain(const KernelContext& context, const ProductCall<KernelArguments, kForm>& call) {
  return AcceptsFactors(context, *call.a, *call.b, kForm == kBmm ? 3 : 2,
                        kTypes | DTypeSet{DType::kComplex64});
}
bool AcceptsAddmm(const KernelContext& context, const AddmmCall& call) {
  return AcceptsFactors(context, *call.a, *call.b, 2, kTypes) && call.alpha.number != 0.0;
}

bool AcceptsGrouped(const KernelContext& context, const GroupedProductCall<KernelArguments>& call) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  return kTypes.contains(call.a->dtype) && call.b->sizes[0] > 0 && out.ok() &&
         (*out)->dtype == call.a->dtype && (*out)->rank() == 2;
}

template <class Call>
uint64_t ScratchBytes(const KernelContext& context, const Call& call) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  if (!out.ok()) return 0;
  const bool parts = call.a->dtype == DType::kComplex64;
  const Scratch scratch =
      parts ? ScratchFor(context, PartsOf(*call.a, 0), PartsOf(*call.b, 0), PartsOf(**out, 0))
            : ScratchFor(context, *call.a, *call.b, **out);
  return scratch.total() * sizeof(float);
}

template <ProductForm kForm>
constexpr Kernel PlainRow(std::string_view op, std::string_view name) {
  return KernelRow<&Plain<kForm>, &AcceptsPlain<kForm>,
                   &ScratchBytes<ProductCall<KernelArguments, kForm>>>(op, "self mat2", name,
                                                                       KernelEngine::kHighway);
}

constexpr Kernel kKernels[] = {
    PlainRow<kMm>("aten.mm.default", "MmSimd"),
    PlainRow<kBmm>("aten.bmm.default", "BmmSimd"),
    KernelRow<&Addmm, &AcceptsAddmm, &ScratchBytes<AddmmCall>>(
        "aten.addmm.default", "self mat1 mat2 beta alpha", "AddmmSimd", KernelEngine::kHighway),
    KernelRow<&GroupedMm, &AcceptsGrouped, &ScratchBytes<GroupedProductCall<KernelArguments>>>(
        "aten._grouped_mm.default", "self mat2 offs bias out_dtype", "GroupedMmSimd",
        KernelEngine::kHighway),
};

}  // namespace

absl::Span<const Kernel> GemmKernels() { return kKernels; }

}  // namespace belay
