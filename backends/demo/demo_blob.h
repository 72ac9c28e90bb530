// The frame around a DemoProgram: see demo_blob.proto.
#ifndef BELAY_BACKENDS_DEMO_DEMO_BLOB_H_
#define BELAY_BACKENDS_DEMO_DEMO_BLOB_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/demo/demo_blob.pb.h"

namespace belay::demo {

inline constexpr size_t kDemoConstantAlignment = 64;

std::vector<std::byte> WriteDemoBlob(const DemoProgram& program,
                                     absl::Span<const std::byte> constants);

struct DemoBlob {
  DemoProgram program;
  absl::Span<const std::byte> constants;  // into the blob
};
// kDataLoss when it is no such blob, kUnimplemented when its version is newer, kResourceExhausted
// when there is no memory for it. What is in the program is not checked. Untrusted input.
absl::StatusOr<DemoBlob> ReadDemoBlob(absl::Span<const std::byte> blob);

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_DEMO_BLOB_H_
