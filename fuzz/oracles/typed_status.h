// Never crashes, and says why not: what comes back for bytes from outside is success or an error of
// a documented kind.
#ifndef BELAY_FUZZ_ORACLES_TYPED_STATUS_H_
#define BELAY_FUZZ_ORACLES_TYPED_STATUS_H_

#include <initializer_list>
#include <string_view>

#include "absl/status/status.h"

namespace belay::fuzz {

// What readers of files may return.
inline constexpr std::initializer_list<absl::StatusCode> kReaderCodes = {
    absl::StatusCode::kDataLoss, absl::StatusCode::kInvalidArgument,
    absl::StatusCode::kUnimplemented, absl::StatusCode::kResourceExhausted,
    absl::StatusCode::kNotFound};
// What loading and executing what was read may return besides.
inline constexpr std::initializer_list<absl::StatusCode> kExecutionCodes = {
    absl::StatusCode::kDataLoss,           absl::StatusCode::kInvalidArgument,
    absl::StatusCode::kUnimplemented,      absl::StatusCode::kResourceExhausted,
    absl::StatusCode::kNotFound,           absl::StatusCode::kOutOfRange,
    absl::StatusCode::kFailedPrecondition, absl::StatusCode::kDeadlineExceeded};

// OK when `status` is, or when it has one of the codes and a message that can be shown: not empty,
// at most 64 kB, no control characters but line feeds and tabs. Otherwise kInternal, which says
// what is wrong and where (`stage`).
absl::Status CheckTyped(std::string_view stage, const absl::Status& status,
                        std::initializer_list<absl::StatusCode> allowed);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_ORACLES_TYPED_STATUS_H_
