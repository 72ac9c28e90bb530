// Runs a program. Links everything in the runtime, so that globals_test can inspect the binary.
#include <cstdio>

#include "runtime/executor/method.h"
#include "runtime/io/npy_values.h"
#include "runtime/kernels/standard_kernels.h"
#include "runtime/program/digest.h"
#include "runtime/program/program.h"
#include "runtime/program/signature.h"

namespace belay {
namespace {

absl::Status RunFile(const char* path) {
  KernelRegistry kernels;
  ABSL_RETURN_IF_ERROR(AddStandardKernels(kernels));
  const BackendRegistry backends;
  const Ed25519Verifier verifier(Ed25519Verifier::Options{});
  Program::Options options;
  options.verifier = &verifier;
  ABSL_ASSIGN_OR_RETURN(const Program program, Program::Open(path, options));
  ABSL_RETURN_IF_ERROR(VerifyDigests(program));
  ABSL_ASSIGN_OR_RETURN(Method method, Method::Load(program, "forward", kernels, backends));
  for (size_t i = 0; i < method.num_inputs(); ++i) {
    ABSL_ASSIGN_OR_RETURN(const NpyArray array,
                          RandomInput(method.plan(), i, /*seed=*/1, /*dynamic_size=*/1));
    ABSL_ASSIGN_OR_RETURN(const EValue value, InputFromNpy(method.plan(), i, array));
    ABSL_RETURN_IF_ERROR(method.SetInput(i, value));
    ABSL_RETURN_IF_ERROR(WriteNpy("/dev/null", array.view()));
  }
  return method.Execute();
}

}  // namespace
}  // namespace belay

int main(int argc, char** argv) {
  const absl::Status status =
      argc == 2 ? belay::RunFile(argv[1]) : absl::InvalidArgumentError("one program file");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
