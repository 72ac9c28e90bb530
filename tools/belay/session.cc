#include "tools/belay/session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "backends/runtime_backends.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay::tools {

absl::StatusOr<std::unique_ptr<Session>> OpenSession(const std::string& path,
                                                     const std::string& method,
                                                     const std::string& engine) {
  const absl::Time start = absl::Now();
  auto session = std::make_unique<Session>();
  if (engine == "reference") {
    ABSL_RETURN_IF_ERROR(AddReferenceKernels(session->kernels));
  } else if (engine == "highway") {
    ABSL_RETURN_IF_ERROR(AddStandardKernels(session->kernels));
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no engine '", engine, "'; there are: highway, reference"));
  }
  absl::StatusOr<Program> program = Program::Open(path);
  if (!program.ok()) {
    return absl::Status(program.status().code(),
                        absl::StrCat(path, ": ", program.status().message()));
  }
  session->program = std::make_unique<Program>(*std::move(program));
  absl::StatusOr<Method> loaded =
      Method::Load(*session->program, method, session->kernels, RuntimeBackends());
  if (!loaded.ok()) {
    return absl::Status(loaded.status().code(),
                        absl::StrCat(path, ": ", loaded.status().message()));
  }
  session->method = std::make_unique<Method>(*std::move(loaded));
  session->load_seconds = absl::ToDoubleSeconds(absl::Now() - start);
  return session;
}

}  // namespace belay::tools
