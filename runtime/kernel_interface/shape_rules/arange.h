// Computes the length of arange(start, end, step).
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_ARANGE_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_ARANGE_H_

#include <cstdint>
#include <variant>

#include "absl/status/statusor.h"
#include "runtime/core/dtype.h"

namespace belay {

using RealNumber = std::variant<int64_t, double>;

// Length for a result of this dtype. Integer dtypes truncate the arguments to integers; int64
// computes without rounding. kInvalidArgument if the step is zero or points away from the end, an
// argument is not finite, or the length does not fit in int64.
absl::StatusOr<int64_t> ArangeLength(const RealNumber& start, const RealNumber& end,
                                     const RealNumber& step, DType dtype);

// Rounds towards zero. Precondition: finite and within int64.
int64_t TruncateToInt(const RealNumber& number);
double ToDouble(const RealNumber& number);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_ARANGE_H_
