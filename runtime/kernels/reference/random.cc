// Random operators. `aten.<op>` draws new numbers in each call; the numbers of `seeded.<op>` are a
// function of the generator state argument.
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <string_view>

#include "runtime/core/budget.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/random.h"
#include "runtime/kernels/operands/creation_kernels.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/element_run.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/reference/families.h"
#include "runtime/kernels/reference/random_stream.h"

namespace belay {
namespace {

template <class Call>
using Seeded = SeededCall<Call, KernelArguments>;
using Sized = SizedCall<KernelArguments>;
using Like = LikeCall<KernelArguments>;

// Bits of the significand: the most random bits that a uniform number can have without rounding to
// 1.
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

// Sets all elements: make(draws) returns an element of class C++ type T.
template <class T, class Make>
void FillElements(const TensorView& output, const RandomStream& random, Make&& make) {
  RunCursor cursor(output.sizes, output.strides);
  const int64_t total = output.numel();
  RunBuffer buffer;
  Budget::Pace pace;
  for (int64_t done = 0; done < total && !pace.Stop(16 * kRunLength); done += kRunLength) {
    const int n = static_cast<int>(std::min<int64_t>(kRunLength, total - done));
    for (int i = 0; i < n; ++i) {
      ElementDraws draws = random.At(done + i);
      buffer.as<T>()[i] = make(draws);
    }
    StoreRun(buffer, kComputeClass<T>, n, cursor, output.data, output.dtype);
  }
}

// Uniform in [0, 1), or normal; each part of a complex normal number has variance 1/2.
template <class Call, bool kNormal>
absl::Status Random(KernelContext& context, const Seeded<RandomCall<Call>>& call) {
  ABSL_ASSIGN_OR_RETURN(TensorView * output, CreatedOutput(context, call));
  const RandomStream random(call, output->data);
  const int bits = SignificandBits(output->dtype);
  const auto next = [&](ElementDraws& draws) {
    return kNormal ? draws.Normal() : draws.Uniform(bits);
  };
  if (!IsComplex(output->dtype)) {
    FillElements<double>(*output, random, next);
    return absl::OkStatus();
  }
  const double scale = kNormal ? 1 / std::numbers::sqrt2 : 1;
  FillElements<std::complex<double>>(*output, random, [&](ElementDraws& draws) {
    const double real = next(draws);
    return std::complex<double>(real * scale, next(draws) * scale);
  });
  return absl::OkStatus();
}

absl::Status Randint(KernelContext& context, const Seeded<RandintCall<KernelArguments>>& call) {
  ABSL_ASSIGN_OR_RETURN(TensorView * output, CreatedOutput(context, call.dtype, call.sizes));
  const uint64_t low = static_cast<uint64_t>(call.low.value());
  const uint64_t count = static_cast<uint64_t>(call.high.value()) - low;
  FillElements<int64_t>(*output, RandomStream(call, output->data), [&](ElementDraws& draws) {
    return static_cast<int64_t>(low + draws.Below(count));
  });
  return absl::OkStatus();
}

absl::Status Randperm(KernelContext& context, const Seeded<RandpermCall<KernelArguments>>& call) {
  const int64_t n = call.n.value();
  const DType dtype = call.dtype;
  ABSL_RETURN_IF_ERROR(ConvertScalar(EValue(n), dtype).status());
  if (IsFloatingPoint(dtype) && n > (int64_t{1} << SignificandBits(dtype)) + 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("n: ", DTypeName(dtype), " cannot represent all integers up to ", n));
  }
  ABSL_ASSIGN_OR_RETURN(TensorView * output, CreatedOutput(context, dtype, {n}));
  const RandomStream random(call, output->data);
  DispatchDType<kNumericTypes>(dtype, [&](auto tag) {
    using T = CppType<tag.value>;
    T* out = output->as<T>();
    const int64_t stride = output->strides[0];
    for (int64_t i = 0; i < n; ++i) {
      const int64_t j = static_cast<int64_t>(random.At(i).Below(static_cast<uint64_t>(i) + 1));
      out[i * stride] = out[j * stride];
      out[j * stride] = ConvertElement<T>(i);
    }
  });
  return absl::OkStatus();
}

// Draws from the Poisson distribution with mean `rate`.
double Poisson(double rate, ElementDraws& draws) {
  constexpr int kMostDraws = 1 << 16;  // never reached by a sequence of draws
  if (rate < 10) {
    // Counts uniform numbers until their product is at most exp(-rate).
    const double least = std::exp(-rate);
    double product = draws.Uniform(53);
    int count = 0;
    for (; product > least && count < kMostDraws; ++count) product *= draws.Uniform(53);
    return count;
  }
  // Transformed rejection: W. Hörmann, "The transformed rejection method for generating Poisson
  // random variables", Insurance: Mathematics and Economics 12 (1993), algorithm PTRS.
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double scale = 1.1239 + 1.1328 / (b - 3.4), accepted = 0.9277 - 3.6224 / (b - 2);
  for (int i = 0; i < kMostDraws; ++i) {
    const double u = draws.Uniform(53) - 0.5, v = 1 - draws.Uniform(53);
    const double away = 0.5 - std::abs(u);
    const double count = std::floor((2 * a / away + b) * u + rate + 0.43);
    if (away >= 0.07 && v <= accepted) return count;
    if (count < 0 || (away < 0.013 && v > away)) continue;
    int sign = 0;
    if (std::log(v * scale / (a / (away * away) + b)) <=
        count * std::log(rate) - rate - ::lgamma_r(count + 1, &sign)) {
      return count;
    }
  }
  return std::floor(rate);
}

absl::Status PoissonOf(KernelContext& context, const Seeded<PoissonCall<KernelArguments>>& call) {
  const TensorView& self = *call.self;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, self.dtype, self));
  const RandomStream random(call, out->data);
  const Reader<double> rates(self);
  const Writer<double> write(*out);
  int64_t element = 0;
  Budget::Pace pace;
  for (StridedIterator<2> it(self.sizes, {self.strides, out->strides});
       !it.done() && !pace.Stop(64); it.Next()) {
    const double rate = rates(it.offset(0));
    if (!(rate >= 0) || std::isinf(rate)) {
      return absl::OutOfRangeError(
          absl::StrCat("self: expected rates that are finite and not negative, got ", rate));
    }
    ElementDraws draws = random.At(element++);
    write(it.offset(1), Poisson(rate, draws));
  }
  return absl::OkStatus();
}

// Keeps each element with probability 1 - p and divides it by 1 - p; the mask marks kept elements.
absl::Status Dropout(KernelContext& context, const Seeded<DropoutCall<KernelArguments>>& call) {
  const TensorView* const input = call.input;
  const double p = call.p;
  ABSL_RETURN_IF_ERROR(ExpectNumbers("input", *input));
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, input->dtype, *input));
  // For an input without elements, PyTorch's mask has the input's dtype.
  ABSL_ASSIGN_OR_RETURN(const TensorView* planned, context.PlannedOutput(1));
  const bool like_input = call.IsEmpty() && planned->dtype == input->dtype;
  ABSL_ASSIGN_OR_RETURN(const TensorView* mask,
                        OutputOf(context, 1, like_input ? input->dtype : DType::kBool, *input));
  if (!call.train) {
    ABSL_RETURN_IF_ERROR(CopyElements(*input, *out));
    const Writer<bool> write_mask(*mask);
    for (StridedIterator<1> it(mask->sizes, {mask->strides}); !it.done(); it.Next()) {
      write_mask(it.offset(0), true);
    }
    return absl::OkStatus();
  }
  const double scale = p == 1 ? 0 : 1 / (1 - p);
  const Reader<double> in(*input);
  const Writer<double> write(*out);
  const Writer<bool> write_mask(*mask);
  const RandomStream random(call, out->data);
  int64_t element = 0;
  Budget::Pace pace;
  for (StridedIterator<3> it(input->sizes, {input->strides, out->strides, mask->strides});
       !it.done() && !pace.Stop(16); it.Next()) {
    const double x = in(it.offset(0));
    const bool kept = random.At(element++).Uniform(53) >= p;
    write(it.offset(1), x * (kept ? scale : 0));
    write_mask(it.offset(2), kept);
  }
  return absl::OkStatus();
}

absl::Status Advance(KernelContext& context, const AdvanceCall<KernelArguments>& call) {
  const TensorView& state = *call.random_state;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kInt64, state));
  const Reader<int64_t> in(state);
  const Writer<int64_t> write(*out);
  const int64_t seed = in(0), calls = in(state.strides[0]);
  write(0, seed);
  write(out->strides[0], WrappingAdd(calls, call.count));
  return absl::OkStatus();
}

// Both operators of a kernel. Only the signature shows the first argument of the seeded operator.
#define BELAY_RANDOM_KERNELS(op, signature, name, run)                              \
  KernelRow<run>("aten." op, signature, name, KernelEngine::kReference),            \
      KernelRow<run>("seeded." op, "random_state offset " signature, "Seeded" name, \
                     KernelEngine::kReference)

constexpr Kernel kKernels[] = {
    BELAY_RANDOM_KERNELS("native_dropout.default", "input p train -> 2", "Dropout", &Dropout),
    BELAY_RANDOM_KERNELS("poisson.default", "self generator", "Poisson", &PoissonOf),
    BELAY_RANDOM_KERNELS("rand.default", "size dtype layout device pin_memory", "Rand",
                         (&Random<Sized, false>)),
    BELAY_RANDOM_KERNELS("rand_like.default", "self dtype layout device pin_memory memory_format",
                         "RandLike", (&Random<Like, false>)),
    BELAY_RANDOM_KERNELS("randint.low", "low high size dtype layout device pin_memory", "Randint",
                         &Randint),
    BELAY_RANDOM_KERNELS("randn.default", "size dtype layout device pin_memory", "Randn",
                         (&Random<Sized, true>)),
    BELAY_RANDOM_KERNELS("randn_like.default", "self dtype layout device pin_memory memory_format",
                         "RandnLike", (&Random<Like, true>)),
    BELAY_RANDOM_KERNELS("randperm.default", "n dtype layout device pin_memory", "Randperm",
                         &Randperm),
    KernelRow<&Advance>("seeded.advance.default", "random_state count", "AdvanceRandomState",
                        KernelEngine::kReference),
};

#undef BELAY_RANDOM_KERNELS

}  // namespace

absl::Span<const Kernel> RandomKernels() { return kKernels; }

}  // namespace belay
