// A loaded method with all kernels and backends that this binary has.
#ifndef BELAY_TOOLS_BELAY_SESSION_H_
#define BELAY_TOOLS_BELAY_SESSION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executorch/reader/open_program.h"
#include "runtime/executor/method.h"
#include "runtime/executor/shared_state.h"
#include "runtime/kernel/kernel_registry.h"
#include "runtime/program/program.h"
#include "runtime/trace/event_log.h"

namespace belay::tools {

// Owns what the method needs to outlive it.
struct Session {
  KernelRegistry kernels;
  std::unique_ptr<ThreadPool> threads;
  std::unique_ptr<Program> program;
  std::unique_ptr<Method> method;
  double load_seconds = 0;  // from the path to a method that can be executed
};

// Kernels of "highway" (with reference kernels for the rest) or of "reference", and those of
// ExecuTorch's own operators; kInvalidArgument for another engine.
absl::Status AddEngine(const std::string& engine, KernelRegistry& kernels);

// Method::Load with the backends of this binary. Kernels and backends that it has not are
// kUnimplemented, all of them listed; kNotFound is a method that the program has not.
absl::StatusOr<std::unique_ptr<Method>> LoadMethod(const Program& program, const std::string& name,
                                                   const KernelRegistry& kernels,
                                                   const MethodOptions& options = {});

// `threads` work on each instruction, 1 to 256; the method logs to `events`; `options` are those of
// OpenProgramFile. Errors name the path.
absl::StatusOr<std::unique_ptr<Session>> OpenSession(const std::string& path,
                                                     const std::string& method,
                                                     const std::string& engine, int threads = 1,
                                                     EventSink events = {},
                                                     const pte::OpenOptions& options = {});

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_SESSION_H_
