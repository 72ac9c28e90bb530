// Checks that readers of untrusted bytes return success or an error of a documented kind.
#ifndef BELAY_FUZZ_ORACLES_TYPED_STATUS_H_
#define BELAY_FUZZ_ORACLES_TYPED_STATUS_H_

#include <initializer_list>
#include <string_view>

#include "absl/status/status.h"

namespace belay::fuzz {

// Codes that readers of files may return.
inline constexpr std::initializer_list<absl::StatusCode> kReaderCodes = {
    absl::StatusCode::kDataLoss, absl::StatusCode::kInvalidArgument,
    absl::StatusCode::kUnimplemented, absl::StatusCode::kResourceExhausted,
    absl::StatusCode::kNotFound};
// Codes that loading and executing a file may return.
inline constexpr std::initializer_list<absl::StatusCode> kExecutionCodes = {
    absl::StatusCode::kDataLoss,           absl::StatusCode::kInvalidArgument,
    absl::StatusCode::kUnimplemented,      absl::StatusCode::kResourceExhausted,
    absl::StatusCode::kNotFound,           absl::StatusCode::kOutOfRange,
    absl::StatusCode::kFailedPrecondition, absl::StatusCode::kDeadlineExceeded};

// Returns OK if `status` is OK, or has one of the codes and a printable message: not empty, at most
// 64 kB, no control characters except line feeds and tabs. Otherwise returns kInternal, which names
// the defect and the `stage`.
absl::Status CheckTyped(std::string_view stage, const absl::Status& status,
                        std::initializer_list<absl::StatusCode> allowed);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_ORACLES_TYPED_STATUS_H_
