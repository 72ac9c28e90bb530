#include "runtime/kernel_interface/shape_rules/arange.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace belay {
namespace {

constexpr double kTwoTo63 = 9223372036854775808.0;

bool FitsInt64(const RealNumber& number) {
  const double* real = std::get_if<double>(&number);
  return real == nullptr || (*real >= -kTwoTo63 && *real < kTwoTo63);
}

}  // namespace

int64_t TruncateToInt(const RealNumber& number) {
  if (const int64_t* integer = std::get_if<int64_t>(&number)) return *integer;
  return static_cast<int64_t>(std::get<double>(number));
}

double ToDouble(const RealNumber& number) {
  if (const int64_t* integer = std::get_if<int64_t>(&number)) return static_cast<double>(*integer);
  return std::get<double>(number);
}

absl::StatusOr<int64_t> ArangeLength(const RealNumber& start, const RealNumber& end,
                                     const RealNumber& step, DType dtype) {
  const double first = ToDouble(start), last = ToDouble(end), by = ToDouble(step);
  if (!std::isfinite(first) || !std::isfinite(last) || std::isnan(by)) {
    return absl::InvalidArgumentError(
        absl::StrCat("unsupported range from ", first, " to ", last, " by ", by));
  }
  const bool integral = IsIntegral(dtype, /*include_bool=*/true);
  if (integral && (!FitsInt64(start) || !FitsInt64(end) || !FitsInt64(step))) {
    return absl::InvalidArgumentError(absl::StrCat("a number of the range from ", first, " to ",
                                                   last, " by ", by, " does not fit in int64"));
  }
  const bool forward = by > 0, backward = by < 0;
  // The untruncated values are compared; only int64 ranges are counted in integers.
  if ((!forward && !backward) || (dtype == DType::kInt64 && TruncateToInt(step) == 0))
    return absl::InvalidArgumentError("the step must not be zero");
  if (forward ? first > last : first < last) {
    return absl::InvalidArgumentError(
        absl::StrCat("a step of ", by, " does not lead from ", first, " to ", last));
  }
  if (dtype == DType::kInt64) {
    const __int128 distance = static_cast<__int128>(TruncateToInt(end)) - TruncateToInt(start);
    const __int128 stride = TruncateToInt(step);
    const __int128 length = (distance + stride - (forward ? 1 : -1)) / stride;
    if (length <= INT64_MAX) return static_cast<int64_t>(length);
  } else {
    const double length = std::ceil((last - first) / by);
    if (length >= 0 && length < kTwoTo63) return static_cast<int64_t>(length);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the range from ", first, " to ", last, " by ", by, " has too many elements"));
}

}  // namespace belay
