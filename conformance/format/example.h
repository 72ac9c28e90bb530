// The example of runtime/schema/file_format.md §9.
#ifndef BELAY_CONFORMANCE_FORMAT_EXAMPLE_H_
#define BELAY_CONFORMANCE_FORMAT_EXAMPLE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace belay {

// Returns the program file that the page dumps.
std::string ExampleFile();

// Returns the page with the bytes of the example's dump updated; the notes beside the bytes stay. A
// line of the dump begins with its offset, "00000010: 4f00 …". kInvalidArgument: the page has no
// dump, or the dump omits bytes that are not zero.
absl::StatusOr<std::string> WithExample(std::string_view page);

}  // namespace belay

#endif  // BELAY_CONFORMANCE_FORMAT_EXAMPLE_H_
