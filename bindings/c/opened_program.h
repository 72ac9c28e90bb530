// Functions that open programs, shared by the runtime and the compiler part of the C API.
#ifndef BELAY_BINDINGS_C_OPENED_PROGRAM_H_
#define BELAY_BINDINGS_C_OPENED_PROGRAM_H_

#include <memory>

#include "absl/status/statusor.h"
#include "bindings/c/belay.h"
#include "bindings/c/handles.h"
#include "executorch/reader/open_program.h"
#include "runtime/program/program.h"

namespace belay::c {

// Copies the options; NULL: the defaults. kInvalidArgument: invalid options.
absl::StatusOr<pte::OpenOptions> OpenOptionsOf(const belay_open_options* given);

// Creates a handle with the kernels that the program needs.
absl::StatusOr<std::unique_ptr<belay_program>> CreateProgram(Program program);

}  // namespace belay::c

#endif  // BELAY_BINDINGS_C_OPENED_PROGRAM_H_
