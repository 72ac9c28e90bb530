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
#include "runtime/kernel/kernel_registry.h"
#include "runtime/program/limits.h"
#include "runtime/program/program.h"

namespace belay::fuzz {

// So small that whatever stays within them is quick.
Limits TightLimits();

struct Engines {
  const KernelRegistry& kernels;
  const BackendRegistry& backends;
  Limits limits = TightLimits();
  // Where companion files are.
  std::string companion_root = {};
  // The engines are those of runtime/executor/testing, some of which fail on purpose with codes
  // that no real one may use.
  bool test_doubles = false;
};

// How far it got, and why not further.
struct Execution {
  std::string_view stage;  // "open", "load", "input", "execute"
  absl::Status status;
};

// Inputs' elements, and sizes within their bounds, are the bytes of `inputs`. Every method is
// called twice, since the first call changes state; all bytes of outputs are read, as are segments,
// named data and names. The file's bytes lie in memory of exactly their size.
Execution Execute(std::string_view file, const Engines& engines, ByteSource& inputs);

// The same of a program that somebody else has opened.
Execution Execute(const absl::StatusOr<Program>& program, const Engines& engines,
                  ByteSource& inputs);

// Execute(), and CheckTyped() of what comes.
absl::Status CheckExecution(std::string_view file, const Engines& engines, ByteSource& inputs);
absl::Status CheckExecution(const absl::StatusOr<Program>& program, const Engines& engines,
                            ByteSource& inputs);

// The bytes of a file, aligned as when it is mapped, with nothing behind the last one.
std::shared_ptr<const std::byte> CopyExactly(std::string_view file);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_ORACLES_EXECUTION_H_
