// Gives a delegate's blob to its backend, as part of a program file.
#ifndef BELAY_FUZZ_NEGATIVE_READ_BLOB_H_
#define BELAY_FUZZ_NEGATIVE_READ_BLOB_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/kernel/kernel_registry.h"
#include "runtime/program/limits.h"

namespace belay::fuzz {

// What a service would set that reads strangers' files in little memory.
Limits TightLimits();

// What comes of a program that calls a delegate of this backend with f32[2,3], and gets f32[2,3]
// from it: opened, loaded and executed within TightLimits(). OK when the blob was accepted.
absl::Status ReadBlob(std::string_view backend, const std::string& blob,
                      const KernelRegistry& kernels, const BackendRegistry& backends);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_NEGATIVE_READ_BLOB_H_
