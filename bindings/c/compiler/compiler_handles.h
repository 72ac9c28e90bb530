// Errors of the compiler's C API. Not part of the API.
#ifndef BELAY_BINDINGS_C_COMPILER_COMPILER_HANDLES_H_
#define BELAY_BINDINGS_C_COMPILER_COMPILER_HANDLES_H_

#include "absl/status/status.h"
#include "bindings/c/belay.h"

namespace belay::c {

// As Report, with the refused nodes of a kUnimplemented error.
belay_status ReportRefusal(const absl::Status& status, belay_error** error);

}  // namespace belay::c

#endif  // BELAY_BINDINGS_C_COMPILER_COMPILER_HANDLES_H_
