// Compares what was computed with what was expected: the one rule for all engines and harnesses.
#ifndef BELAY_EXIR_ENGINE_COMPARE_H_
#define BELAY_EXIR_ENGINE_COMPARE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/core/evalue.h"
#include "runtime/core/tensor_view.h"

namespace belay::exir {

// How alike the elements of tensors, and numbers, must be. Integers and bools are always equal;
// complex numbers are compared by part.
struct Closeness {
  enum class Elements : uint8_t {
    kAny,       // floating point numbers and elements of tensors are not looked at
    kClose,     // |got - want| <= atol + rtol * |want|, or both NaN, or the same infinity
    kSameBits,  // any NaN equals any other
    kIdentical,
  };
  Elements elements = Elements::kClose;
  double atol = 0, rtol = 0;
  // float16 and bfloat16 get at least what their precision needs.
  bool by_precision = false;
  // Where one is infinite or NaN, the other may be anything.
  bool finite_only = false;
};
inline constexpr Closeness kAnyElements = {.elements = Closeness::Elements::kAny};
inline constexpr Closeness kSameBits = {.elements = Closeness::Elements::kSameBits};
inline constexpr Closeness kIdentical = {.elements = Closeness::Elements::kIdentical};

// OK when dtype and sizes are equal and every element is close. Otherwise kFailedPrecondition: dtype
// and sizes, or how many elements differ and the first of them (its index in row-major order, what
// was expected, what there is). Strides do not matter.
absl::Status CompareTensors(const TensorView& want, const TensorView& got,
                            const Closeness& closeness);

// The same for values of any kind; kinds must be equal. Lists are kUnimplemented.
absl::Status CompareValues(const EValue& want, const EValue& got, const Closeness& closeness);

// The same for a recording, in which a number is a tensor of rank 0.
absl::Status CompareRecorded(const TensorView& want, const EValue& got, const Closeness& closeness);

// How far floating point numbers are from what they should be.
struct Deviation {
  double absolute = 0;
  double relative = 0;  // to what is expected, where that is not 0

  void Widen(const Deviation& other);
};
// The largest of all elements, or parts of complex ones, that are finite in both; 0 for other dtypes,
// and where dtype or sizes differ.
Deviation LargestDeviation(const EValue& want, const EValue& got);

}  // namespace belay::exir

#endif  // BELAY_EXIR_ENGINE_COMPARE_H_
