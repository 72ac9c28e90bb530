#include <algorithm>

#include "runtime/kernels/creation/creation.h"
#include "runtime/kernels/element_copy/convert_run.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/element_copy/run_source.h"
#include "runtime/kernels/operands/creation_kernels.h"
#include "runtime/kernels/operands/scalar_element.h"

namespace belay {
namespace {

// Fills a vector: calls count(start, n, T* out) for each piece, in place if the output has
// contiguous elements of type T.
template <class T, class Count>
void CountInto(const TensorView& output, DType type, const Count& count) {
  const int64_t total = output.numel();
  if (total == 0) return;
  if (output.dtype == type && output.strides[0] == 1) {
    count(0, static_cast<size_t>(total), output.as<T>());
    return;
  }
  RunSink sink(output.data, output.dtype, output.sizes, output.strides, type);
  RunStorage buffer;
  for (int64_t start = 0; start < total; start += kRunBufferLength) {
    const int64_t n = std::min(kRunBufferLength, total - start);
    count(start, static_cast<size_t>(n), static_cast<T*>(sink.Place(n, buffer)));
    sink.Commit(n, buffer);
  }
}

struct Engine {
  static absl::Status Fill(const TensorView& output, const EValue& value) {
    ABSL_ASSIGN_OR_RETURN(const ScalarElement element, ScalarElement::Create(value, output.dtype));
    if (output.numel() == 1) {
      element.StoreTo(output.data);
    } else {
      FillStrided(output, element.data());
    }
    return absl::OkStatus();
  }
  static void CountIntegers(const TensorView& output, uint64_t first, uint64_t step) {
    CountInto<int64_t>(output, DType::kInt64, [&](int64_t start, size_t n, int64_t* out) {
      CountInt64(first, step, start, n, out);
    });
  }
  static void CountFloats(const TensorView& output, double first, double step) {
    if (output.dtype == DType::kFloat32) {
      CountInto<float>(output, DType::kFloat32, [&](int64_t start, size_t n, float* out) {
        CountFloat32(first, step, start, n, out);
      });
    } else {
      CountInto<double>(output, DType::kFloat64, [&](int64_t start, size_t n, double* out) {
        CountFloat64(first, step, start, n, out);
      });
    }
  }
  static absl::Status Copy(const TensorView& from, const TensorView& to) {
    return CopyStrided(from, to);
  }
};

// Supports dtypes that have conversions.
template <class Call>
bool Accepts(const KernelContext& context, const Call& call) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  return out.ok() && kRunTypes.contains((*out)->dtype);
}

constexpr Kernel kKernels[] = {
#define BELAY_CREATION_KERNEL(op, signature, name, run) \
  KernelRow<run, &Accepts<CallOfRun<run>>>(op, signature, name "Simd", KernelEngine::kHighway),
#include "runtime/kernels/operands/creation_kernels.inc"
};

}  // namespace

absl::Span<const Kernel> CreationHighwayKernels() { return kKernels; }

}  // namespace belay
