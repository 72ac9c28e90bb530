// The smallest program that runs programs: opens a file, loads a method with the linked kernels and
// backends (none), and executes it. Its size is that of the core runtime.
#include <cstdio>
#include <memory>

#include "runtime/backend/backend_registry.h"
#include "runtime/core/evalue.h"
#include "runtime/executor/method.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/program/program.h"

namespace belay {
namespace {

absl::Status Run(const char* path) {
  const KernelRegistry kernels;
  const BackendRegistry backends;
  absl::StatusOr<Program> program = Program::Open(path);
  if (!program.ok()) return program.status();
  absl::StatusOr<Method> method = Method::Load(*program, "forward", kernels, backends);
  if (!method.ok()) return method.status();
  for (size_t i = 0; i < method->num_inputs(); ++i) {
    const absl::Status status = method->SetInput(i, EValue());
    if (!status.ok()) return status;
  }
  return method->Execute();
}

}  // namespace
}  // namespace belay

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const absl::Status status = belay::Run(argv[1]);
  if (status.ok()) return 0;
  std::fwrite(status.message().data(), 1, status.message().size(), stderr);
  return 1;
}
