// The fuzz target of delegates' blobs; blob_fuzzer() of //fuzz:fuzz_target.bzl makes one of it for
// a backend.
#ifndef BELAY_FUZZ_TARGETS_BACKEND_BLOB_H_
#define BELAY_FUZZ_TARGETS_BACKEND_BLOB_H_

#include <vector>

#include "runtime/backend/backend_runtime.h"

namespace belay::fuzz {

// The backends that read the blobs: what the target is linked with defines it. The input's first
// bytes choose one of them and the call (GenerateDelegateFile in
// fuzz/generators/program_generator.h), the rest is the blob; it is loaded and executed within
// limits, and every error must be one that runtime sides may return.
std::vector<const BackendRuntime*> FuzzedRuntimes();

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_TARGETS_BACKEND_BLOB_H_
