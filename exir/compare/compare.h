// Compares actual with expected values: the single rule for all engines and harnesses.
#ifndef BELAY_EXIR_COMPARE_COMPARE_H_
#define BELAY_EXIR_COMPARE_COMPARE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/core/evalue.h"
#include "runtime/core/tensor_view.h"

namespace belay::exir {

// Required closeness of tensor elements and scalars. Integers and bools must always be equal;
// complex numbers are compared by part.
struct Closeness {
  enum class Elements : uint8_t {
    kAny,       // ignores floating-point scalars and tensor elements
    kClose,     // |got - want| <= atol + rtol * |want|, or both NaN, or the same infinity
    kSameBits,  // any NaN equals any other
    kIdentical,
  };
  Elements elements = Elements::kClose;
  double atol = 0, rtol = 0;
  // Allows for the rounding of sums: float16 and bfloat16 get at least the tolerance that their
  // precision needs, and each element of any dtype may also deviate by rtol * kOfLargest of the
  // tensor's largest finite |want|, since a sum whose terms cancel keeps the error of the terms.
  bool by_precision = false;
  static constexpr double kOfLargest = 0.01;
  // If one side is infinite or NaN, the other may be anything.
  bool finite_only = false;
};
inline constexpr Closeness kAnyElements = {.elements = Closeness::Elements::kAny};
inline constexpr Closeness kSameBits = {.elements = Closeness::Elements::kSameBits};
inline constexpr Closeness kIdentical = {.elements = Closeness::Elements::kIdentical};

// OK if dtype and sizes are equal and every element is close. Otherwise kFailedPrecondition: dtype
// and sizes, or the number of mismatches and the first one (its index in row-major order, expected,
// actual). Strides are ignored.
absl::Status CompareTensors(const TensorView& want, const TensorView& got,
                            const Closeness& closeness);

// Same, for values of any kind; kinds must be equal. Lists are kUnimplemented.
absl::Status CompareValues(const EValue& want, const EValue& got, const Closeness& closeness);

// Same, for recordings, in which a scalar is a tensor of rank 0.
absl::Status CompareRecorded(const TensorView& want, const EValue& got, const Closeness& closeness);

// Deviation of floating-point numbers from their expected values.
struct Deviation {
  double absolute = 0;
  double relative = 0;  // relative to the expected value, if that is not 0

  void Widen(const Deviation& other);
};
// Maximum over all elements, or parts of complex ones, that are finite in both. 0 for other dtypes,
// and if dtype or sizes differ.
Deviation LargestDeviation(const EValue& want, const EValue& got);

}  // namespace belay::exir

#endif  // BELAY_EXIR_COMPARE_COMPARE_H_
