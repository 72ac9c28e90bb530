// The example of runtime/schema/file_format.md §9.
#ifndef BELAY_CONFORMANCE_FORMAT_EXAMPLE_H_
#define BELAY_CONFORMANCE_FORMAT_EXAMPLE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace belay {

// The program file that the page dumps.
std::string ExampleFile();

// The page with the bytes of the example's dump put right; what is written beside the bytes stays.
// A line of it begins with its offset, "00000010: 4f00 …". kInvalidArgument when there is no dump
// or it leaves out bytes that are not zero.
absl::StatusOr<std::string> WithExample(std::string_view page);

}  // namespace belay

#endif  // BELAY_CONFORMANCE_FORMAT_EXAMPLE_H_
