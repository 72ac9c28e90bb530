#include "conformance/models/compare.h"

#include <cmath>
#include <complex>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/core/element.h"

namespace belay::conformance {
namespace {

bool Close(double want, double got, double atol, double rtol) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return want == got;
  return std::abs(got - want) <= atol + rtol * std::abs(want);
}

template <class T>
bool Matches(T want, T got, double atol, double rtol) {
  if constexpr (kIsComplex<T>) {
    return Close(want.real(), got.real(), atol, rtol) && Close(want.imag(), got.imag(), atol, rtol);
  } else if constexpr (kIsFloating<T>) {
    return Close(static_cast<ComputeType<T>>(want), static_cast<ComputeType<T>>(got), atol, rtol);
  } else {
    return want == got;
  }
}

template <class T>
std::string Text(T value) {
  if constexpr (kIsComplex<T>) {
    return absl::StrCat(value.real(), "+", value.imag(), "j");
  } else if constexpr (kIsFloating<T>) {
    return absl::StrCat(static_cast<ComputeType<T>>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else {
    return absl::StrCat(static_cast<int64_t>(value));
  }
}

}  // namespace

absl::Status CompareTensors(const TensorView& want, const TensorView& got, double atol,
                            double rtol) {
  if (want.dtype != got.dtype || !(want.sizes == got.sizes)) {
    return absl::FailedPreconditionError(
        absl::StrCat("expected ", want.ToString(), ", got ", got.ToString()));
  }
  int64_t differing = 0, index = 0;
  std::string first;
  const bool known = DispatchDType<kAllTypes>(want.dtype, [&](auto tag) {
    using T = CppType<tag.value>;
    for (StridedIterator<2> it(want.sizes, {want.strides, got.strides}); !it.done();
         it.Next(), ++index) {
      const T w = want.as<T>()[it.offset(0)], g = got.as<T>()[it.offset(1)];
      if (Matches(w, g, atol, rtol)) continue;
      if (differing++ == 0)
        first = absl::StrCat("element ", index, ": expected ", Text(w), ", got ", Text(g));
    }
  });
  if (!known) return absl::UnimplementedError(absl::StrCat("can't compare ", want.ToString()));
  if (differing == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(differing, " of ", index, " elements differ; ", first));
}

}  // namespace belay::conformance
