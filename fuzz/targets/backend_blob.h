// Fuzz target of delegates' blobs; blob_fuzzer() of //fuzz:fuzz_target.bzl instantiates it for a
// backend.
#ifndef BELAY_FUZZ_TARGETS_BACKEND_BLOB_H_
#define BELAY_FUZZ_TARGETS_BACKEND_BLOB_H_

#include <vector>

#include "runtime/backend/backend_runtime.h"

namespace belay::fuzz {

// Returns the backends under test; defined by a library linked into the target. The first bytes of
// the input choose a backend and the call (GenerateDelegateFile in
// fuzz/generators/program_generator.h); the rest is the blob. It is loaded and executed within
// limits, and every error must have a code that backend runtimes may return.
std::vector<const BackendRuntime*> FuzzedRuntimes();

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_TARGETS_BACKEND_BLOB_H_
