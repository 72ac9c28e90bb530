// Describes an unexpected file by its first bytes.
#ifndef BELAY_RUNTIME_CORE_FIRST_BYTES_H_
#define BELAY_RUNTIME_CORE_FIRST_BYTES_H_

#include <cstddef>
#include <string>

#include "absl/types/span.h"

namespace belay {

// For error messages: "it is a NumPy array", "it begins with 01 02 03 04 05 06 07 08", "it is
// empty". Reads at most 24 bytes of the file.
std::string DescribeFirstBytes(absl::Span<const std::byte> file);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_FIRST_BYTES_H_
