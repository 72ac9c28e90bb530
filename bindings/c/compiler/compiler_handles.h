// Functions that sources of the compiler's C API share. Not part of the API.
#ifndef BELAY_BINDINGS_C_COMPILER_COMPILER_HANDLES_H_
#define BELAY_BINDINGS_C_COMPILER_COMPILER_HANDLES_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bindings/c/belay.h"
#include "bindings/c/compiler/memory_file.h"

namespace belay::c {

// As Report, with the refused nodes of a kUnimplemented error.
belay_status ReportRefusal(const absl::Status& status, belay_error** error);

// Returns `path`, or if it is NULL the path of a copy of the bytes in `files`. Errors of
// MemoryFiles::Add, and kInvalidArgument: both are NULL.
absl::StatusOr<std::string> PathOf(const char* path, const void* bytes, size_t size,
                                   std::string_view name, MemoryFiles& files);

}  // namespace belay::c

#endif  // BELAY_BINDINGS_C_COMPILER_COMPILER_HANDLES_H_
