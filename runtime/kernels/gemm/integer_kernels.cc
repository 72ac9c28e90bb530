// mm, bmm and addmm of integers (with factors of 1) and doubles. Bytes are multiplied by
// quantized_gemm.h: exact modulo 256, with and without sign. Operands that the GEMM cannot read in place
// are copied to the compute type, A once, B panel by panel.
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/matmul.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/gemm/factors.h"
#include "runtime/kernels/gemm/panel_gemm.h"
#include "runtime/kernels/operands/gemm_ranges.h"
#include "runtime/kernels/operands/grouped_rows.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/strided_view.h"
#include "runtime/kernels/packed/quantized_gemm.h"
#include "runtime/kernels/packed/quantized_weights.h"

namespace belay {
namespace {

constexpr DTypeSet kTypes = {DType::kInt8, DType::kUint8, DType::kInt16, DType::kInt32,
                             DType::kInt64};
constexpr DTypeSet kDoubles = {DType::kFloat64};
constexpr int64_t kColumns = kPanelColumns;
constexpr int64_t kRowStep = 12;  // rows of a register tile on the widest instruction set

bool IsByte(DType dtype) { return DTypeSize(dtype) == 1; }
DType ComputeType(DType dtype) {
  return DTypeSize(dtype) == 8 || IsByte(dtype) ? dtype : DType::kInt32;
}

// Whether the GEMM reads or writes the rows of `t` in place.
bool InPlace(const TensorView& t) {
  return t.dtype == ComputeType(t.dtype) && !IsByte(t.dtype) &&
         (t.strides[t.rank() - 1] == 1 || t.sizes[t.rank() - 1] == 1);
}

// Sizes of the parts of the scratch memory, in bytes, each aligned for its elements: results and a
// panel of B per thread, and a copy of A.
struct Scratch {
  uint64_t c = 0, panel = 0, a = 0;
  uint64_t threads = 1;
  uint64_t total() const { return (c + panel) * threads + a; }
};

Scratch ScratchFor(const KernelContext& context, DType dtype, int64_t m, int64_t k) {
  const uint64_t rows = static_cast<uint64_t>(m), depth = static_cast<uint64_t>(k),
                 size = DTypeSize(ComputeType(dtype));
  const uint64_t sum = std::max<uint64_t>(size, sizeof(int32_t));
  // A panel of bytes has a depth of whole VNNI-4 groups.
  const uint64_t panel_depth = IsByte(dtype) ? (depth + 3) / 4 * 4 : depth;
  return {rows * kPanelColumns * sum, panel_depth * kPanelColumns * size, rows * depth * size,
          static_cast<uint64_t>(context.num_threads())};
}

// Returns columns [first, first + count) of a matrix.
TensorView ColumnsOf(const TensorView& t, int64_t first, int64_t count) {
  TensorView part = t;
  part.data = PartAddress(t, first * t.strides[1]);
  part.sizes[1] = count;
  return part;
}

void CopyRows(const TensorView& from, DType dtype, int64_t row, void* to) {
  TensorView target = from;
  target.dtype = dtype;
  target.strides = {row, 1};
  target.data = to;
  CopyConvertible(from, target);
}

// alpha * a b + beta * addend; the factors of integers are 1.
struct Addend {
  const TensorView* tensor = nullptr;  // null if not used
  double alpha = 1, beta = 1;
};

// out = alpha * c + beta * addend for a panel of columns; c has rows of kColumns elements.
void StoreDoubles(const double* c, const Addend& addend, const TensorView& out) {
  for (int64_t i = 0; i < out.sizes[0]; ++i) {
    const double* row = c + i * kColumns;
    double* to = out.as<double>() + i * out.strides[0];
    for (int64_t j = 0; j < out.sizes[1]; ++j) {
      double sum = addend.alpha * row[j];
      if (addend.tensor != nullptr) {
        const TensorView& t = *addend.tensor;
        sum += addend.beta * t.as<const double>()[i * t.strides[0] + j * t.strides[1]];
      }
      to[j * out.strides[1]] = sum;
    }
  }
}

// out = c + addend for a panel of columns; c has type T and rows of kColumns.
template <class T, class Out>
void StorePanel(const T* c, const TensorView* addend, const TensorView& out) {
  using U = std::make_unsigned_t<T>;
  for (int64_t i = 0; i < out.sizes[0]; ++i) {
    const T* row = c + i * kColumns;
    Out* to = out.as<Out>() + i * out.strides[0];
    for (int64_t j = 0; j < out.sizes[1]; ++j) {
      U sum = static_cast<U>(row[j]);
      if (addend != nullptr) {
        sum += static_cast<U>(
            addend->as<const Out>()[i * addend->strides[0] + j * addend->strides[1]]);
      }
      to[j * out.strides[1]] = static_cast<Out>(sum);
    }
  }
}

void StorePanel(const void* c, const Addend& added, const TensorView& out) {
  const TensorView* const addend = added.tensor;
  switch (out.dtype) {
    case DType::kFloat64:
      return StoreDoubles(static_cast<const double*>(c), added, out);
    case DType::kInt64:
      return StorePanel<int64_t, int64_t>(static_cast<const int64_t*>(c), addend, out);
    case DType::kInt32:
      return StorePanel<int32_t, int32_t>(static_cast<const int32_t*>(c), addend, out);
    case DType::kInt16:
      return StorePanel<int32_t, int16_t>(static_cast<const int32_t*>(c), addend, out);
    default:  // bytes, with or without sign
      return StorePanel<int32_t, uint8_t>(static_cast<const int32_t*>(c), addend, out);
  }
}

// Least depth of doubles for sums in lanes.
constexpr size_t kLeastColumnDepth = 32;

TensorView Transposed(TensorView matrix) {
  std::swap(matrix.sizes[0], matrix.sizes[1]);
  std::swap(matrix.strides[0], matrix.strides[1]);
  return matrix;
}

// One panel of columns of C. `a` and `c` are the tensors, or copies in scratch memory.
struct Panel {
  const TensorView &a, &c;  // C has rows of `c.strides[0]` elements
  std::byte* copy;          // memory for columns of B
};

template <class T>
void MultiplyWords(const TensorView& columns, const Panel& panel) {
  PanelArgs<T, T> g;
  g.m = static_cast<size_t>(panel.a.sizes[0]);
  g.n = static_cast<size_t>(columns.sizes[1]);
  g.k = static_cast<size_t>(columns.sizes[0]);
  g.a = panel.a.as<const T>();
  g.lda = static_cast<size_t>(panel.a.strides[0]);
  g.c = panel.c.as<T>();
  g.ldc = static_cast<size_t>(panel.c.strides[0]);
  if constexpr (std::is_same_v<T, double>) {
    if (g.n <= kFewDoubleColumns && g.k >= kLeastColumnDepth) {
      const TensorView rows = Transposed(columns);
      g.b = columns.as<const double>();
      g.ldb = static_cast<size_t>(rows.strides[0]);
      if (rows.strides[1] != 1) {
        CopyRows(rows, DType::kFloat64, rows.sizes[1], panel.copy);
        g.b = reinterpret_cast<const double*>(panel.copy);
        g.ldb = g.k;
      }
      return MultiplyColumns(g);
    }
  }
  if (InPlace(columns) && columns.sizes[1] == kColumns) {
    g.b = columns.as<const T>();
    g.ldb = static_cast<size_t>(columns.strides[0]);
  } else {
    g.b = reinterpret_cast<const T*>(panel.copy);
    g.ldb = kPanelColumns;
    if (columns.sizes[1] < kColumns) {
      std::memset(panel.copy, 0, g.k * kPanelColumns * sizeof(T));
    }
    CopyRows(columns, panel.c.dtype, kColumns, panel.copy);
  }
  MultiplyPanel(g);
}

void MultiplyBytes(const TensorView& columns, const Panel& panel) {
  int8_t* const packed = reinterpret_cast<int8_t*>(panel.copy);
  PackQuantizedMatrix(columns.as<const int8_t>(), 1, columns.sizes[0], columns.sizes[1], 0,
                      columns.strides[0], columns.strides[1], packed);
  QuantizedGemmArgs g;
  g.m = static_cast<size_t>(panel.a.sizes[0]);
  g.n = static_cast<size_t>(columns.sizes[1]);
  g.k = g.lda = static_cast<size_t>(columns.sizes[0]);
  g.a = panel.a.as<const uint8_t>();
  g.b = packed;
  g.c = panel.c.data;
  g.ldc = kPanelColumns;
  QuantizedGemm(g);
}

// Computes a b plus the addend for matrices on the threads of the context.
void MultiplyMatrices(const KernelContext& context, const TensorView& left, const TensorView& right,
                      const Addend& addend, const TensorView& out, const Scratch& parts,
                      std::byte* scratch) {
  const DType dtype = out.dtype, type = ComputeType(dtype);
  const int64_t m = left.sizes[0], k = left.sizes[1], n = right.sizes[1];
  TensorView a = left;
  if (!InPlace(left)) {
    a = TensorView::Contiguous(type, left.sizes, scratch + (parts.c + parts.panel) * parts.threads);
    CopyRows(left, type, k, a.data);
  }
  const bool direct = InPlace(out) && addend.tensor == nullptr && addend.alpha == 1;
  const GemmSize size = {m,
                         kRowStep,
                         n,
                         kColumns,
                         static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k),
                         /*packs=*/true};
  const auto multiply = IsByte(dtype)             ? &MultiplyBytes
                        : type == DType::kFloat64 ? &MultiplyWords<double>
                        : type == DType::kInt64   ? &MultiplyWords<int64_t>
                                                  : &MultiplyWords<int32_t>;
  RunPanels(context, size, [&](int part, size_t row, size_t end_row, size_t column, size_t end) {
    std::byte* const mine = scratch + (parts.c + parts.panel) * static_cast<uint64_t>(part);
    const auto first_row = static_cast<int64_t>(row), last_row = static_cast<int64_t>(end_row),
               first = static_cast<int64_t>(column), count = static_cast<int64_t>(end - column);
    const TensorView result = RowsOf(ColumnsOf(out, first, count), first_row, last_row);
    const TensorView c =
        direct ? result : TensorView::Contiguous(type, {last_row - first_row, kColumns}, mine);
    multiply(ColumnsOf(right, first, count), {RowsOf(a, first_row, last_row), c, mine + parts.c});
    if (direct) return;
    Addend added = addend;
    TensorView extra;
    if (addend.tensor != nullptr) {
      extra = RowsOf(ColumnsOf(*addend.tensor, first, count), first_row, last_row);
      added.tensor = &extra;
    }
    StorePanel(c.data, added, result);
  });
}

absl::Status Multiply(KernelContext& context, const TensorView& a, const TensorView& b,
                      const Addend& addend, int batch_dims) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape,
                        MatMulShape<CheckedInt>(ToDims(a.sizes), ToDims(b.sizes), batch_dims));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, a.dtype, shape));
  Addend expanded = addend;
  TensorView added;
  if (addend.tensor != nullptr) {
    ABSL_ASSIGN_OR_RETURN(added, ExpandTo(*addend.tensor, out->sizes));
    expanded.tensor = &added;
  }
  if (out->numel() == 0) return absl::OkStatus();
  const Scratch parts = ScratchFor(context, a.dtype, a.sizes[batch_dims], a.sizes[batch_dims + 1]);
  ABSL_ASSIGN_OR_RETURN(std::byte * scratch,
                        ScratchArray<std::byte>(context, static_cast<int64_t>(parts.total())));
  const int64_t batches = batch_dims == 0 ? 1 : a.sizes[0];
  for (int64_t i = 0; i < batches; ++i) {
    MultiplyMatrices(context, MatrixOf(a, i), MatrixOf(b, i), expanded, MatrixOf(*out, i), parts,
                     scratch);
  }
  return absl::OkStatus();
}

constexpr ProductForm kMm = ProductForm::kMm, kBmm = ProductForm::kBmm;
using AddmmCall = ScaledSumCall<KernelArguments, kMm>;

template <ProductForm kForm>
absl::Status Plain(KernelContext& context, const ProductCall<KernelArguments, kForm>& call) {
  return Multiply(context, *call.a, *call.b, {}, kForm == kBmm ? 1 : 0);
}

bool IsOne(const ProductFactor& factor) { return factor.is_int && factor.integer == 1; }

// Supports only factors of 1 for integers. As in BLAS, a beta of zero removes the addend, even if that has
// NaN; its shape must still fit.
absl::Status Addmm(KernelContext& context, const AddmmCall& call) {
  if (call.a->dtype != DType::kFloat64) {
    if (!IsOne(call.beta) || !IsOne(call.alpha))
      return absl::InternalError("the call changed after the kernel was chosen");
    return Multiply(context, *call.a, *call.b, {call.self}, 0);
  }
  if (call.alpha.number == 0.0)
    return absl::InternalError("the call changed after the kernel was chosen");
  ABSL_RETURN_IF_ERROR(call.Shape().status());
  return Multiply(context, *call.a, *call.b,
                  {call.beta.number == 0.0 ? nullptr : call.self, call.alpha.number.real(),
                   call.beta.number.real()},
                  0);
}

template <ProductForm kForm, DTypeSet kAccepted>
bool AcceptsPlain(const KernelContext& context, const ProductCall<KernelArguments, kForm>& call) {
  return AcceptsFactors(context, *call.a, *call.b, kForm == kBmm ? 3 : 2, kAccepted);
}
template <DTypeSet kAccepted>
bool AcceptsAddmm(const KernelContext& context, const AddmmCall& call) {
  if (!AcceptsFactors(context, *call.a, *call.b, 2, kAccepted)) return false;
  return call.a->dtype == DType::kFloat64 ? call.alpha.number != 0.0
                                          : IsOne(call.beta) && IsOne(call.alpha);
}

template <class Call>
uint64_t ScratchBytes(const KernelContext& context, const Call& call) {
  const TensorView& a = *call.a;
  return ScratchFor(context, a.dtype, a.sizes[a.rank() - 2], a.sizes[a.rank() - 1]).total();
}

constexpr KernelEngine kHighway = KernelEngine::kHighway;

template <ProductForm kForm, DTypeSet kAccepted>
constexpr Kernel PlainRow(std::string_view op, std::string_view name) {
  return KernelRow<&Plain<kForm>, &AcceptsPlain<kForm, kAccepted>,
                   &ScratchBytes<ProductCall<KernelArguments, kForm>>>(op, "self mat2", name,
                                                                       kHighway);
}

template <DTypeSet kAccepted>
constexpr Kernel AddmmRow(std::string_view name) {
  return KernelRow<&Addmm, &AcceptsAddmm<kAccepted>, &ScratchBytes<AddmmCall>>(
      "aten.addmm.default", "self mat1 mat2 beta alpha", name, kHighway);
}

constexpr Kernel kKernels[] = {
    PlainRow<kMm, kTypes>("aten.mm.default", "MmIntegerSimd"),
    PlainRow<kBmm, kTypes>("aten.bmm.default", "BmmIntegerSimd"),
    AddmmRow<kTypes>("AddmmIntegerSimd"),
    PlainRow<kMm, kDoubles>("aten.mm.default", "MmDoubleSimd"),
    PlainRow<kBmm, kDoubles>("aten.bmm.default", "BmmDoubleSimd"),
    AddmmRow<kDoubles>("AddmmDoubleSimd"),
};

}  // namespace

absl::Span<const Kernel> IntegerGemmKernels() { return kKernels; }

}  // namespace belay
