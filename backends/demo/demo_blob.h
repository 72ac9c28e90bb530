// The framing of a DemoProgram; see demo_blob.proto.
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
// kDataLoss if the bytes are not a demo blob, kUnimplemented for a newer version,
// kResourceExhausted if memory is exhausted. Does not validate the program. Input is untrusted.
absl::StatusOr<DemoBlob> ReadDemoBlob(absl::Span<const std::byte> blob);

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_DEMO_BLOB_H_
