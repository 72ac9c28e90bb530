// ExecuTorch programs (.pte): opened under tight limits, loaded with the reference kernels and the
// XNNPACK backend, and executed within an instruction budget. Programs with XNNPACK delegates are
// opened and executed again with the delegates compiled for the CPU backend. Each is also converted
// to a program file, which must open.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "backends/cpu/aot/cpu_backend.h"
#include "executorch/format/xnnpack_payload.h"
#include "executorch/payload_import/delegate_converter.h"
#include "executorch/payload_import/program_image.h"
#include "executorch/reader/open_program.h"
#include "executorch/reader/prim_kernels.h"
#include "exir/ops/standard_ops.h"
#include "exir/serialize/serializer.h"
#include "fuzz/generators/byte_source.h"
#include "fuzz/oracles/execution.h"
#include "fuzz/oracles/require.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::xnnpack {
std::vector<const BackendRuntime*> Runtimes();
}  // namespace belay::xnnpack
namespace belay::cpu {
std::vector<const BackendRuntime*> Runtimes();
}  // namespace belay::cpu

namespace {

belay::KernelRegistry Kernels() {
  belay::KernelRegistry kernels;
  ABSL_CHECK(belay::AddReferenceKernels(kernels).ok());
  ABSL_CHECK(kernels.Add(belay::pte::PrimKernels()).ok());
  return kernels;
}

belay::BackendRegistry Backends() {
  belay::BackendRegistry backends;
  for (const belay::BackendRuntime* runtime : belay::xnnpack::Runtimes()) {
    ABSL_CHECK(backends.Add(runtime).ok());
  }
  for (const belay::BackendRuntime* runtime : belay::cpu::Runtimes()) {
    ABSL_CHECK(backends.Add(runtime).ok());
  }
  return backends;
}

belay::pte::DelegateConverter Converter() {
  static const auto& ops = *new auto(belay::exir::CreateStandardOps());
  static const auto& backend = *new belay::cpu::CpuBackend;
  return belay::pte::XnnpackConverter(**ops, backend);
}

bool HasXnnpackDelegate(const belay::Program& program) {
  for (const belay::MethodPlan& method : program.methods()) {
    for (const belay::DelegatePlan& delegate : method.delegates) {
      if (delegate.backend_id == belay::xnnpack::kBackendId) return true;
    }
  }
  return false;
}

// Checks that a program which opens can be converted, unless its arena can't be aligned.
absl::Status CheckConversion(const std::shared_ptr<const std::byte>& bytes, size_t size,
                             const belay::Program::Options& options,
                             const belay::pte::DelegateConverter& converter) {
  using namespace belay;
  ABSL_ASSIGN_OR_RETURN(const pte::TranslatedProgram program,
                        pte::TranslateProgramBytes(bytes, absl::MakeConstSpan(bytes.get(), size),
                                                   pte::DataFiles(), options, converter));
  const absl::StatusOr<exir::ProgramImage> image = pte::ImageOf(program);
  if (absl::IsUnimplemented(image.status())) return absl::OkStatus();
  ABSL_RETURN_IF_ERROR(image.status());
  ABSL_ASSIGN_OR_RETURN(const exir::SerializedProgram file, exir::SerializeProgram(*image));
  const exir::Storage storage = file.ToStorage();
  const absl::Status opened =
      Program::OpenBytes(storage.owner, storage.bytes, Program::Options()).status();
  return absl::IsResourceExhausted(opened) ? absl::OkStatus() : opened;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  static const KernelRegistry& kernels = *new KernelRegistry(Kernels());
  static const BackendRegistry& backends = *new BackendRegistry(Backends());
  const fuzz::Engines engines = {.kernels = kernels, .backends = backends};
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const std::shared_ptr<const std::byte> bytes = fuzz::CopyExactly(file);
  Program::Options options;
  options.limits = engines.limits;
  const auto open = [&](const pte::DelegateConverter& converter) {
    return pte::OpenProgramBytes(bytes, absl::MakeConstSpan(bytes.get(), size), pte::DataFiles(),
                                 options, converter);
  };
  const absl::StatusOr<Program> program = open({});
  fuzz::ByteSource inputs(file);
  fuzz::Require(fuzz::CheckExecution(program, engines, inputs));
  if (!program.ok()) return 0;
  if (!HasXnnpackDelegate(*program)) {
    fuzz::Require(CheckConversion(bytes, size, options, {}));
    return 0;
  }
  static const pte::DelegateConverter& converter = *new pte::DelegateConverter(Converter());
  fuzz::ByteSource same_inputs(file);
  const absl::StatusOr<Program> converted = open(converter);
  fuzz::Require(fuzz::CheckExecution(converted, engines, same_inputs));
  if (converted.ok()) fuzz::Require(CheckConversion(bytes, size, options, converter));
  return 0;
}
