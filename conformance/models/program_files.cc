#include "conformance/models/program_files.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "exir/emit/program_image.h"
#include "exir/serialize/serializer.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/program/program.h"

namespace belay::conformance {

absl::Status WriteModel(const std::string& folder, const Manifest& manifest,
                        const std::string& archive, const Engine& engine,
                        const std::string& program) {
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image,
                        LowerModel(folder, manifest, archive, engine));
  return exir::WriteProgramFile(image, program);
}

absl::Status RunSameProgram(const std::string& folder, const Manifest& manifest,
                            const std::string& archive, const Engine& engine,
                            const std::string& program) {
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image,
                        LowerModel(folder, manifest, archive, engine));
  ABSL_ASSIGN_OR_RETURN(const exir::SerializedProgram serialized, exir::SerializeProgram(image));
  const std::string lowered = serialized.ToString();
  ABSL_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(program));
  const std::string_view expected(reinterpret_cast<const char*>(file->bytes().data()),
                                  file->bytes().size());
  if (lowered != expected) {
    const size_t offset =
        std::mismatch(lowered.begin(), lowered.end(), expected.begin(), expected.end()).first -
        lowered.begin();
    return absl::FailedPreconditionError(
        absl::StrCat("expected the bytes of ", program, ", ", expected.size(),
                     " of them; lowering gives ", lowered.size(), ", other from ", offset, " on"));
  }
  ABSL_ASSIGN_OR_RETURN(const Program opened,
                        Program::OpenBytes(file, file->bytes(), Program::Options()));
  ABSL_ASSIGN_OR_RETURN(Method method,
                        Method::Load(opened, "forward", *engine.kernels, *engine.backends));
  return RunCases(folder, manifest, method);
}

}  // namespace belay::conformance
