// Operators that make tensors out of sizes and numbers.
// What PyTorch leaves uninitialized is zero.
#include <cmath>
#include <complex>
#include <numbers>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/kernel_arguments.h"
#include "runtime/kernel/shape_rules/creation.h"
#include "runtime/kernels/call/creation_kernels.h"
#include "runtime/kernels/call/element_run.h"
#include "runtime/kernels/reference/families.h"
#include "runtime/kernels/reference/random_stream.h"

namespace belay {
namespace {

// Fills a tensor with runs: make(first, n, buffer) sets elements first … first + n - 1 as elements
// of class `type`.
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

// Sets all elements to a number that ConvertScalar made for the dtype.
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

// The bits of a significand: as many random bits a uniform number can have without being rounded
// to 1.
int SignificandBits(DType dtype) {
  switch (RealPart(dtype)) {
    case DType::kFloat16:
      return 11;
    case DType::kBFloat16:
      return 8;
    case DType::kFloat32:
      return 24;
    default:
      return 53;
  }
}

// Uniform in [0, 1) or normal; the parts of a complex normal number have variance 1/2 each.
void FillRandom(const TensorView& output, bool normal) {
  RandomStream random(output.data);
  const int bits = SignificandBits(output.dtype);
  const auto next = [&] { return normal ? random.Normal() : random.Uniform(bits); };
  if (IsComplex(output.dtype)) {
    const double scale = normal ? 1 / std::numbers::sqrt2 : 1;
    FillRuns(output, ComputeClass::kComplex, [&](int64_t, int n, RunBuffer& buffer) {
      for (int i = 0; i < n; ++i) {
        const double real = next();
        buffer.as<std::complex<double>>()[i] = {real * scale, next() * scale};
      }
    });
  } else {
    FillRuns(output, ComputeClass::kDouble, [&](int64_t, int n, RunBuffer& buffer) {
      for (int i = 0; i < n; ++i) buffer.as<double>()[i] = next();
    });
  }
}

template <class Call, bool kNormal>
absl::Status Random(KernelContext& context, const RandomCall<Call>& call) {
  ABSL_ASSIGN_OR_RETURN(TensorView * output, CreatedOutput(context, call));
  FillRandom(*output, kNormal);
  return absl::OkStatus();
}

absl::Status Randperm(KernelContext& context, const RandpermCall<KernelArguments>& call) {
  const int64_t n = call.n.value();
  const DType dtype = call.dtype;
  ABSL_RETURN_IF_ERROR(ConvertScalar(EValue(n), dtype).status());
  if (IsFloatingPoint(dtype) && n > (int64_t{1} << SignificandBits(dtype)) + 1) {
    return absl::InvalidArgumentError(absl::StrCat(DTypeName(dtype), " can't count to ", n));
  }
  ABSL_ASSIGN_OR_RETURN(TensorView * output, CreatedOutput(context, dtype, {n}));
  RandomStream random(output->data);
  DispatchDType<kNumericTypes>(dtype, [&](auto tag) {
    using T = CppType<tag.value>;
    T* out = output->as<T>();
    const int64_t stride = output->strides[0];
    for (int64_t i = 0; i < n; ++i) {
      const int64_t j = static_cast<int64_t>(random.Below(static_cast<uint64_t>(i) + 1));
      out[i * stride] = out[j * stride];
      out[j * stride] = ConvertElement<T>(i);
    }
  });
  return absl::OkStatus();
}

constexpr KernelEngine kReference = KernelEngine::kReference;
constexpr std::string_view kSized = "size dtype layout device pin_memory";
constexpr std::string_view kLike = "self dtype layout device pin_memory memory_format";
using Sized = SizedCall<KernelArguments>;
using Like = LikeCall<KernelArguments>;

constexpr Kernel kKernels[] = {
#define BELAY_CREATION_KERNEL(op, signature, name, run) \
  KernelRow<run>(op, signature, name, kReference),
#include "runtime/kernels/call/creation_kernels.inc"
    KernelRow<&Random<Sized, false>>("aten.rand.default", kSized, "Rand", kReference),
    KernelRow<&Random<Like, false>>("aten.rand_like.default", kLike, "RandLike", kReference),
    KernelRow<&Random<Sized, true>>("aten.randn.default", kSized, "Randn", kReference),
    KernelRow<&Random<Like, true>>("aten.randn_like.default", kLike, "RandnLike", kReference),
    KernelRow<&Randperm>("aten.randperm.default", "n dtype layout device pin_memory", "Randperm",
                         kReference),
};

}  // namespace

absl::Span<const Kernel> CreationKernels() { return kKernels; }

}  // namespace belay
