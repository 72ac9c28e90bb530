// Loads and executes methods with the options of the C API. Not part of the API.
#ifndef BELAY_BINDINGS_C_EXECUTION_H_
#define BELAY_BINDINGS_C_EXECUTION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bindings/c/belay.h"
#include "bindings/c/handles.h"
#include "runtime/core/thread_pool.h"
#include "runtime/executor/execute_options.h"

namespace belay::c {

// Creates the threads of the options; null for 0 and 1, which use only the calling thread.
// kInvalidArgument: expected 0 to 256.
absl::StatusOr<std::unique_ptr<ThreadPool>> CreateThreads(int32_t num_threads);

// Errors of belay_method_load.
absl::StatusOr<std::unique_ptr<belay_method>> LoadMethod(const belay_program* program,
                                                         const char* name,
                                                         const belay_method_options* given);

// Sets all inputs; those of kind BELAY_KIND_NONE keep their value. kInvalidArgument: wrong number
// of inputs, or an invalid value. Also errors of Method::SetInput.
absl::Status SetInputs(belay_method& method, const belay_value* inputs, size_t num_inputs);

// Converts the options (NULL: the defaults). kInvalidArgument, kUnimplemented: of Known.
absl::StatusOr<ExecuteOptions> ExecuteOptionsOf(const belay_execute_options* given);

// Executes within the options (NULL: the defaults). Errors of belay_method_execute.
absl::Status Execute(belay_method* method, const belay_execute_options* given);

// Returns the time after `timeout_ns` nanoseconds, at most a century.
std::chrono::steady_clock::time_point DeadlineAfter(uint64_t timeout_ns);

}  // namespace belay::c

#endif  // BELAY_BINDINGS_C_EXECUTION_H_
