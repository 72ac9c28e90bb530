// Opens a program file, loads all of its methods and executes them, within limits.
#ifndef BELAY_FUZZ_ORACLES_EXECUTION_H_
#define BELAY_FUZZ_ORACLES_EXECUTION_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "fuzz/generators/byte_source.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/program/limits.h"
#include "runtime/program/program.h"

namespace belay::fuzz {

// Limits small enough that files within them are executed quickly.
Limits TightLimits();

struct Engines {
  const KernelRegistry& kernels;
  const BackendRegistry& backends;
  Limits limits = TightLimits();
  // Folder of companion files.
  std::string companion_root = {};
  // The engines are those of runtime/executor/testing. Some of them fail on purpose with codes that
  // real engines must not use.
  bool test_doubles = false;
};

// The last stage reached, and its status.
struct Execution {
  std::string_view stage;  // "open", "load", "input", "execute"
  absl::Status status;
};

// Executes all methods. The bytes of `inputs` give the elements of inputs, and sizes within their
// bounds. Every method is called twice, since the first call changes state. All bytes of outputs,
// segments, named data and names are read. The file's bytes are in an allocation of exactly their
// size.
Execution Execute(std::string_view file, const Engines& engines, ByteSource& inputs);

// Same, for an open program.
Execution Execute(const absl::StatusOr<Program>& program, const Engines& engines,
                  ByteSource& inputs);

// Runs Execute(), then CheckTyped() on its status.
absl::Status CheckExecution(std::string_view file, const Engines& engines, ByteSource& inputs);
absl::Status CheckExecution(const absl::StatusOr<Program>& program, const Engines& engines,
                            ByteSource& inputs);

// Copies a file's bytes to an allocation of exactly their size, aligned as a memory-mapped file.
std::shared_ptr<const std::byte> CopyExactly(std::string_view file);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_ORACLES_EXECUTION_H_
