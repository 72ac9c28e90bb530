// mm, bmm and addmm (with factors of 1) of integers. Bytes are multiplied by quantized_gemm.h: exact
// modulo 256, with and without sign. A is copied once, B panel by panel, to the compute type.
#include <algorithm>
#include <cstring>
#include <type_traits>

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
constexpr int64_t kColumns = kPanelColumns;
constexpr int64_t kRowStep = 12;  // rows of a register tile on the widest instruction set

bool IsByte(DType dtype) { return DTypeSize(dtype) == 1; }
DType ComputeType(DType dtype) {
  return dtype == DType::kInt64 || IsByte(dtype) ? dtype : DType::kInt32;
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

void StorePanel(const void* c, const TensorView* addend, const TensorView& out) {
  switch (out.dtype) {
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

// Multiplies rows of A by a panel of columns; C has rows of kPanelColumns elements.
template <class T>
void MultiplyWords(const TensorView& columns, size_t m, const std::byte* a, std::byte* panel,
                   std::byte* c) {
  constexpr DType kType = std::is_same_v<T, int64_t> ? DType::kInt64 : DType::kInt32;
  PanelArgs<T, T> g;
  g.m = m;
  g.n = static_cast<size_t>(columns.sizes[1]);
  g.k = g.lda = static_cast<size_t>(columns.sizes[0]);
  g.a = reinterpret_cast<const T*>(a);
  g.b = reinterpret_cast<const T*>(panel);
  g.c = reinterpret_cast<T*>(c);
  g.ldb = g.ldc = kPanelColumns;
  if (columns.sizes[1] < kColumns) std::memset(panel, 0, g.k * kPanelColumns * sizeof(T));
  CopyRows(columns, kType, kColumns, panel);
  MultiplyPanel(g);
}

void MultiplyBytes(const TensorView& columns, size_t m, const std::byte* a, std::byte* panel,
                   std::byte* c) {
  int8_t* const packed = reinterpret_cast<int8_t*>(panel);
  PackQuantizedMatrix(columns.as<const int8_t>(), 1, columns.sizes[0], columns.sizes[1], 0,
                      columns.strides[0], columns.strides[1], packed);
  QuantizedGemmArgs g;
  g.m = m;
  g.n = static_cast<size_t>(columns.sizes[1]);
  g.k = g.lda = static_cast<size_t>(columns.sizes[0]);
  g.a = reinterpret_cast<const uint8_t*>(a);
  g.b = packed;
  g.c = c;
  g.ldc = kPanelColumns;
  QuantizedGemm(g);
}

// Computes a b + addend for matrices on the threads of the context; `addend` may be null.
void MultiplyMatrices(const KernelContext& context, const TensorView& left, const TensorView& right,
                      const TensorView* addend, const TensorView& out, const Scratch& parts,
                      std::byte* scratch) {
  const DType dtype = out.dtype, type = ComputeType(dtype);
  const int64_t m = left.sizes[0], k = left.sizes[1], n = right.sizes[1];
  std::byte* const a = scratch + (parts.c + parts.panel) * parts.threads;
  CopyRows(left, type, k, a);
  const GemmSize size = {m,
                         kRowStep,
                         n,
                         kColumns,
                         static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k),
                         /*packs=*/true};
  RunPanels(context, size, [&](int part, size_t row, size_t end_row, size_t column, size_t end) {
    std::byte* const c = scratch + (parts.c + parts.panel) * static_cast<uint64_t>(part);
    std::byte* const panel = c + parts.c;
    const auto first_row = static_cast<int64_t>(row), last_row = static_cast<int64_t>(end_row),
               first = static_cast<int64_t>(column), count = static_cast<int64_t>(end - column);
    const TensorView columns = ColumnsOf(right, first, count);
    const std::byte* const rows = a + row * static_cast<uint64_t>(k) * DTypeSize(type);
    (IsByte(dtype)           ? &MultiplyBytes
     : type == DType::kInt64 ? &MultiplyWords<int64_t>
                             : &MultiplyWords<int32_t>)(columns, end_row - row, rows, panel, c);
    TensorView extra;
    if (addend != nullptr) extra = RowsOf(ColumnsOf(*addend, first, count), first_row, last_row);
    StorePanel(c, addend == nullptr ? nullptr : &extra,
               RowsOf(ColumnsOf(out, first, count), first_row, last_row));
  });
}

absl::Status Multiply(KernelContext& context, const TensorView& a, const TensorView& b,
                      const TensorView* addend, int batch_dims) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape,
                        MatMulShape<CheckedInt>(ToDims(a.sizes), ToDims(b.sizes), batch_dims));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, a.dtype, shape));
  TensorView added;
  if (addend != nullptr) {
    ABSL_ASSIGN_OR_RETURN(added, ExpandTo(*addend, out->sizes));
  }
  if (out->numel() == 0) return absl::OkStatus();
  const Scratch parts = ScratchFor(context, a.dtype, a.sizes[batch_dims], a.sizes[batch_dims + 1]);
  ABSL_ASSIGN_OR_RETURN(std::byte * scratch,
                        ScratchArray<std::byte>(context, static_cast<int64_t>(parts.total())));
  const int64_t batches = batch_dims == 0 ? 1 : a.sizes[0];
  for (int64_t i = 0; i < batches; ++i) {
    MultiplyMatrices(context, MatrixOf(a, i), MatrixOf(b, i), addend == nullptr ? nullptr : &added,
                     MatrixOf(*out, i), parts, scratch);
  }
  return absl::OkStatus();
}

constexpr ProductForm kMm = ProductForm::kMm, kBmm = ProductForm::kBmm;
using AddmmCall = ScaledSumCall<KernelArguments, kMm>;

template <ProductForm kForm>
absl::Status Plain(KernelContext& context, const ProductCall<KernelArguments, kForm>& call) {
  return Multiply(context, *call.a, *call.b, nullptr, kForm == kBmm ? 1 : 0);
}

bool IsOne(const ProductFactor& factor) { return factor.is_int && factor.integer == 1; }

// Supports only factors of 1.
absl::Status Addmm(KernelContext& context, const AddmmCall& call) {
  if (!IsOne(call.beta) || !IsOne(call.alpha))
    return absl::InternalError("the call changed after the kernel was chosen");
  return Multiply(context, *call.a, *call.b, call.self, 0);
}

template <ProductForm kForm>
bool AcceptsPlain(const KernelContext& context, const ProductCall<KernelArguments, kForm>& call) {
  return AcceptsFactors(context, *call.a, *call.b, kForm == kBmm ? 3 : 2, kTypes);
}
bool AcceptsAddmm(const KernelContext& context, const AddmmCall& call) {
  return AcceptsFactors(context, *call.a, *call.b, 2, kTypes) && IsOne(call.beta) &&
         IsOne(call.alpha);
}

template <class Call>
uint64_t ScratchBytes(const KernelContext& context, const Call& call) {
  const TensorView& a = *call.a;
  return ScratchFor(context, a.dtype, a.sizes[a.rank() - 2], a.sizes[a.rank() - 1]).total();
}

constexpr KernelEngine kHighway = KernelEngine::kHighway;

template <ProductForm kForm>
constexpr Kernel PlainRow(std::string_view op, std::string_view name) {
  return KernelRow<&Plain<kForm>, &AcceptsPlain<kForm>,
                   &ScratchBytes<ProductCall<KernelArguments, kForm>>>(op, "self mat2", name,
                                                                       kHighway);
}

constexpr Kernel kKernels[] = {
    PlainRow<kMm>("aten.mm.default", "MmIntegerSimd"),
    PlainRow<kBmm>("aten.bmm.default", "BmmIntegerSimd"),
    KernelRow<&Addmm, &AcceptsAddmm, &ScratchBytes<AddmmCall>>(
        "aten.addmm.default", "self mat1 mat2 beta alpha", "AddmmIntegerSimd", kHighway),
};

}  // namespace

absl::Span<const Kernel> IntegerGemmKernels() { return kKernels; }

}  // namespace belay
