// A loaded method with all kernels and backends of this binary.
#ifndef BELAY_TOOLS_BELAY_SESSION_H_
#define BELAY_TOOLS_BELAY_SESSION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executorch/reader/open_program.h"
#include "runtime/executor/method.h"
#include "runtime/executor/shared_state.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/program/program.h"
#include "runtime/trace/event_log.h"

namespace belay::tools {

// Owns the objects that must outlive the method.
struct Session {
  KernelRegistry kernels;
  std::unique_ptr<ThreadPool> threads;
  std::unique_ptr<Program> program;
  std::unique_ptr<Method> method;
  double load_seconds = 0;  // from opening the path to a loaded method
};

// Adds the kernels of "highway" (with reference kernels for other operators) or of "reference", and
// those of ExecuTorch's own operators. kInvalidArgument: unknown engine.
absl::Status AddEngine(const std::string& engine, KernelRegistry& kernels);

// Calls Method::Load with the backends of this binary. kUnimplemented: missing kernels and
// backends, all listed; kNotFound: unknown method.
absl::StatusOr<std::unique_ptr<Method>> LoadMethod(const Program& program, const std::string& name,
                                                   const KernelRegistry& kernels,
                                                   const MethodOptions& options = {});

// Each instruction uses `threads` threads, 1 to 256; the method logs to `events`; `options` are
// those of OpenProgramFile. Errors name the path.
absl::StatusOr<std::unique_ptr<Session>> OpenSession(const std::string& path,
                                                     const std::string& method,
                                                     const std::string& engine, int threads = 1,
                                                     EventSink events = {},
                                                     const pte::OpenOptions& options = {},
                                                     const OptionLookup* backend_options = nullptr);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_SESSION_H_
