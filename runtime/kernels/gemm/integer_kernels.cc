// mm, bmm and addmm (with factors of 1) of integers. A is copied once, B panel by panel, to the
// compute type.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/matmul.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/gemm/factors.h"
#include "runtime/kernels/gemm/integer_gemm.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/strided_view.h"

namespace belay {
namespace {

constexpr DTypeSet kTypes = {DType::kInt8, DType::kUint8, DType::kInt16, DType::kInt32,
                             DType::kInt64};
constexpr int64_t kColumns = kPanelColumns;

bool IsByte(DType dtype) { return DTypeSize(dtype) == 1; }
DType ComputeType(DType dtype) { return dtype == DType::kInt64 ? dtype : DType::kInt32; }
int64_t QuadsOf(int64_t k) { return (k + 3) / 4; }

// Offsets of the parts of the scratch memory, in bytes; each is aligned for its elements.
struct Scratch {
  uint64_t c = 0, panel = 0, a = 0;
  uint64_t total() const { return c + panel + a; }
};

Scratch ScratchFor(DType dtype, int64_t m, int64_t k) {
  const uint64_t size = DTypeSize(ComputeType(dtype)), rows = static_cast<uint64_t>(m);
  const uint64_t depth_bytes =
      IsByte(dtype) ? static_cast<uint64_t>(QuadsOf(k)) * kQuad : static_cast<uint64_t>(k) * size;
  return {rows * kPanelColumns * size, depth_bytes * kPanelColumns, rows * depth_bytes};
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

// Packs a panel in VNNI-4 layout: panel(k / 4, n, k % 4) = b[k, n], padded with zeros.
void PackVnni4(const TensorView& b, int8_t* panel) {
  const int64_t k = b.sizes[0], n = b.sizes[1];
  std::memset(panel, 0, static_cast<size_t>(QuadsOf(k) * 4 * kColumns));
  for (int64_t p = 0; p < k; ++p) {
    const int8_t* from = b.as<const int8_t>() + p * b.strides[0];
    int8_t* to = panel + p / 4 * 4 * kColumns + p % 4;
    for (int64_t j = 0; j < n; ++j) to[j * 4] = from[j * b.strides[1]];
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

template <class T>
void MultiplyWords(const TensorView& right, int64_t m, const std::byte* a, std::byte* panel,
                   std::byte* c) {
  constexpr DType kType = std::is_same_v<T, int64_t> ? DType::kInt64 : DType::kInt32;
  IntegerPanel<T> p;
  p.m = static_cast<size_t>(m);
  p.n = static_cast<size_t>(right.sizes[1]);
  p.k = p.lda = static_cast<size_t>(right.sizes[0]);
  p.a = reinterpret_cast<const T*>(a);
  p.b = reinterpret_cast<const T*>(panel);
  p.c = reinterpret_cast<T*>(c);
  p.ldc = kPanelColumns;
  if (right.sizes[1] < kColumns) std::memset(panel, 0, p.k * kPanelColumns * sizeof(T));
  CopyRows(right, kType, kColumns, panel);
  MultiplyIntegers(p);
}

void MultiplyQuads(const TensorView& right, int64_t m, const std::byte* a, std::byte* panel,
                   std::byte* c) {
  PackVnni4(right, reinterpret_cast<int8_t*>(panel));
  BytePanel p;
  p.m = static_cast<size_t>(m);
  p.n = static_cast<size_t>(right.sizes[1]);
  p.quads = static_cast<size_t>(QuadsOf(right.sizes[0]));
  p.a = reinterpret_cast<const uint8_t*>(a);
  p.b = reinterpret_cast<const int8_t*>(panel);
  p.c = reinterpret_cast<int32_t*>(c);
  p.ldc = kPanelColumns;
  MultiplyBytes(p);
}

// Computes a b + addend; `addend` may be null.
absl::Status Multiply(KernelContext& context, const TensorView& a, const TensorView& b,
                      const TensorView* addend, int batch_dims) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape,
                        MatMulShape<CheckedInt>(ToDims(a.sizes), ToDims(b.sizes), batch_dims));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, a.dtype, shape));
  const int64_t batches = batch_dims == 0 ? 1 : a.sizes[0];
  const int64_t m = a.sizes[batch_dims], k = a.sizes[batch_dims + 1], n = b.sizes[batch_dims + 1];
  TensorView added;
  if (addend != nullptr) {
    ABSL_ASSIGN_OR_RETURN(added, ExpandTo(*addend, out->sizes));
  }
  if (out->numel() == 0) return absl::OkStatus();
  const DType dtype = a.dtype;
  const Scratch parts = ScratchFor(dtype, m, k);
  ABSL_ASSIGN_OR_RETURN(std::byte * scratch,
                        ScratchArray<std::byte>(context, static_cast<int64_t>(parts.total())));
  std::byte *const c = scratch, *const panel = c + parts.c, *const a_copy = panel + parts.panel;
  for (int64_t i = 0; i < batches; ++i) {
    const TensorView left = MatrixOf(a, i), right = MatrixOf(b, i), result = MatrixOf(*out, i);
    if (IsByte(dtype)) {
      if (k % 4 != 0) std::memset(a_copy, 0, parts.a);
      CopyRows(left, dtype, QuadsOf(k) * 4, a_copy);
    } else {
      CopyRows(left, ComputeType(dtype), k, a_copy);
    }
    for (int64_t first = 0; first < n; first += kColumns) {
      const int64_t count = std::min(n - first, kColumns);
      const TensorView columns = ColumnsOf(right, first, count);
      if (IsByte(dtype)) {
        MultiplyQuads(columns, m, a_copy, panel, c);
      } else if (dtype == DType::kInt64) {
        MultiplyWords<int64_t>(columns, m, a_copy, panel, c);
      } else {
        MultiplyWords<int32_t>(columns, m, a_copy, panel, c);
      }
      const TensorView extra = addend == nullptr ? TensorView() : ColumnsOf(added, first, count);
      StorePanel(c, addend == nullptr ? nullptr : &extra, ColumnsOf(result, first, count));
    }
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
  return ScratchFor(a.dtype, a.sizes[a.rank() - 2], a.sizes[a.rank() - 1]).total();
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
