// Operators that create tensors from sizes and scalars. Tensors that PyTorch leaves uninitialized
// are zero.
#include <complex>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/creation.h"
#include "runtime/kernels/operands/creation_kernels.h"
#include "runtime/kernels/operands/element_run.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

// Fills a tensor run by run: make(first, n, buffer) writes elements first … first + n - 1 as
// elements of class `type`.
template <class Make>
void FillRuns(const TensorView& output, ComputeClass type, Make&& make) {
  RunCursor cursor(output.sizes, output.strides);
  const int64_t total = output.numel();
  RunBuffer buffer;
  for (int64_t done = 0; done < total; done += kRunLength) {
    const int n = static_cast<int>(std::min<int64_t>(kRunLength, total - done));
    make(done, n, buffer);
    StoreRun(buffer, type, n, cursor, output.data, output.dtype);
  }
}

// Sets all elements to a scalar that ConvertScalar converted to the dtype.
void FillNumber(const TensorView& output, const EValue& number) {
  const auto fill = [&](ComputeClass type, auto value) {
    FillRuns(output, type, [&](int64_t, int n, RunBuffer& buffer) {
      for (int i = 0; i < n; ++i) buffer.as<decltype(value)>()[i] = value;
    });
  };
  if (const int64_t* integer = number.get_if<int64_t>()) fill(ComputeClass::kInt, *integer);
  if (const bool* boolean = number.get_if<bool>()) fill(ComputeClass::kInt, int64_t{*boolean});
  if (const double* real = number.get_if<double>()) fill(ComputeClass::kDouble, *real);
  if (const auto* complex = number.get_if<std::complex<double>>())
    fill(ComputeClass::kComplex, *complex);
}

struct Engine {
  static absl::Status Fill(const TensorView& output, const EValue& value) {
    ABSL_ASSIGN_OR_RETURN(const EValue number, ConvertScalar(value, output.dtype));
    FillNumber(output, number);
    return absl::OkStatus();
  }
  static void CountIntegers(const TensorView& output, uint64_t first, uint64_t step) {
    FillRuns(output, ComputeClass::kInt, [&](int64_t done, int n, RunBuffer& buffer) {
      int64_t* out = buffer.as<int64_t>();
      for (int i = 0; i < n; ++i)
        out[i] = static_cast<int64_t>(first + static_cast<uint64_t>(done + i) * step);
    });
  }
  static void CountFloats(const TensorView& output, double first, double step) {
    FillRuns(output, ComputeClass::kDouble, [&](int64_t done, int n, RunBuffer& buffer) {
      double* out = buffer.as<double>();
      for (int i = 0; i < n; ++i) out[i] = first + step * static_cast<double>(done + i);
    });
  }
  static absl::Status Copy(const TensorView& from, const TensorView& to) {
    return CopyElements(from, to);
  }
};

constexpr KernelEngine kReference = KernelEngine::kReference;

constexpr Kernel kKernels[] = {
#define BELAY_CREATION_KERNEL(op, signature, name, run) \
  KernelRow<run>(op, signature, name, kReference),
#include "runtime/kernels/operands/creation_kernels.inc"
};

}  // namespace

absl::Span<const Kernel> CreationKernels() { return kKernels; }

}  // namespace belay
