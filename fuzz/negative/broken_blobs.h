// Tests that a backend's runtime rejects malformed blobs.
//
//   const fuzz::NegativeBytes kBlobs[] = {
//       {"C1_empty", "no bytes", absl::StatusCode::kDataLoss, "has no header",
//        [] { return std::string(); }},
//   };
//   TEST(NpuRuntimeTest, RejectsBrokenBlobs) { fuzz::ExpectRefusals(NpuRuntime(), kBlobs); }
#ifndef BELAY_FUZZ_NEGATIVE_BROKEN_BLOBS_H_
#define BELAY_FUZZ_NEGATIVE_BROKEN_BLOBS_H_

#include "absl/types/span.h"
#include "fuzz/negative/negative_bytes.h"
#include "runtime/backend/backend_runtime.h"

namespace belay::fuzz {

// Expects that each blob gives its error (ReadBlob in fuzz/negative/read_blob.h) in a process with
// little memory and time, and that random bytes give an error. `blobs` must not be empty, and names
// must be unique.
void ExpectRefusals(const BackendRuntime& backend, absl::Span<const NegativeBytes> blobs);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_NEGATIVE_BROKEN_BLOBS_H_
