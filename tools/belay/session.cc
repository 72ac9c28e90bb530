#include "tools/belay/session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "backends/runtime_backends.h"
#include "executorch/reader/prim_kernels.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/standard_kernels.h"
#include "tools/belay/program_file.h"

namespace belay::tools {

absl::Status AddEngine(const std::string& engine, KernelRegistry& kernels) {
  ABSL_RETURN_IF_ERROR(kernels.Add(pte::PrimKernels()));
  if (engine == "reference") return AddReferenceKernels(kernels);
  if (engine == "highway") return AddStandardKernels(kernels);
  return absl::InvalidArgumentError(
      absl::StrCat("unknown engine '", engine, "'; expected: highway, reference"));
}

absl::StatusOr<std::unique_ptr<Method>> LoadMethod(const Program& program, const std::string& name,
                                                   const KernelRegistry& kernels,
                                                   const MethodOptions& options) {
  ABSL_RETURN_IF_ERROR(program.FindMethod(name).status());
  absl::StatusOr<Method> method = Method::Load(program, name, kernels, RuntimeBackends(), options);
  if (method.ok()) return std::make_unique<Method>(*std::move(method));
  // The method exists, so kNotFound refers to a kernel or a backend.
  if (absl::IsNotFound(method.status())) {
    return absl::UnimplementedError(method.status().message());
  }
  return method.status();
}

absl::StatusOr<std::unique_ptr<Session>> OpenSession(
    const std::string& path, const std::string& method, const std::string& engine, int threads,
    EventSink events, const pte::OpenOptions& options, const OptionLookup* backend_options) {
  const absl::Time start = absl::Now();
  auto session = std::make_unique<Session>();
  ABSL_RETURN_IF_ERROR(AddEngine(engine, session->kernels));
  ABSL_ASSIGN_OR_RETURN(Program program, OpenProgramFile(path, options));
  session->program = std::make_unique<Program>(std::move(program));
  if (threads > 1) session->threads = std::make_unique<ThreadPool>(threads);
  absl::StatusOr<std::unique_ptr<Method>> loaded = LoadMethod(
      *session->program, method, session->kernels,
      {.threads = session->threads.get(), .events = events, .backend_options = backend_options});
  if (!loaded.ok()) return Annotate(loaded.status(), path);
  session->method = *std::move(loaded);
  session->load_seconds = absl::ToDoubleSeconds(absl::Now() - start);
  return session;
}

}  // namespace belay::tools
