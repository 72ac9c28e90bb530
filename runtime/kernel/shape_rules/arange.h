// The length of arange(start, end, step).
#ifndef BELAY_RUNTIME_KERNEL_SHAPE_RULES_ARANGE_H_
#define BELAY_RUNTIME_KERNEL_SHAPE_RULES_ARANGE_H_

#include <cstdint>
#include <variant>

#include "absl/status/statusor.h"
#include "runtime/core/dtype.h"

namespace belay {

using RealNumber = std::variant<int64_t, double>;

// For a result of this dtype: integer dtypes cut the numbers to integers, and int64 counts without
// rounding. kInvalidArgument when the step is zero or leads away from the end, when a number is not
// finite, or when the length is no int64.
absl::StatusOr<int64_t> ArangeLength(const RealNumber& start, const RealNumber& end,
                                     const RealNumber& step, DType dtype);

// Towards zero. Precondition: finite and within int64.
int64_t TruncateToInt(const RealNumber& number);
double ToDouble(const RealNumber& number);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_SHAPE_RULES_ARANGE_H_
