// Runs a backend on a delegate's blob, as part of a program file.
#ifndef BELAY_FUZZ_NEGATIVE_READ_BLOB_H_
#define BELAY_FUZZ_NEGATIVE_READ_BLOB_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/program/limits.h"

namespace belay::fuzz {

// Limits for a service that reads untrusted files with little memory.
Limits TightLimits();

// Opens, loads and executes a program within TightLimits(). It calls a delegate of this backend
// with one f32[2,3] argument and one f32[2,3] output. Returns OK if the blob is accepted.
absl::Status ReadBlob(std::string_view backend, const std::string& blob,
                      const KernelRegistry& kernels, const BackendRegistry& backends);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_NEGATIVE_READ_BLOB_H_
