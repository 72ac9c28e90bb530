// An archive with several models, for tests.
#ifndef BELAY_TOOLS_BELAY_TWO_MODEL_ARCHIVE_H_
#define BELAY_TOOLS_BELAY_TWO_MODEL_ARCHIVE_H_

#include <string>
#include <utility>

#include "exir/import/testing/archive.h"

namespace belay::tools {

// Returns an archive with the models "prefill", relu(x + w), and `second`, -(x + w).
inline std::string TwoModelArchive(const std::string& second = "decode") {
  const exir::ArchiveFiles relu = exir::DefaultFiles(exir::ProgramJson());
  const exir::ArchiveFiles neg = exir::DefaultFiles(
      exir::ProgramJson({{"torch.ops.aten.relu.default", "torch.ops.aten.neg.default"}}));
  exir::ArchiveFiles files;
  const auto add = [&](const exir::ArchiveFiles& model, const std::string& name, bool first) {
    for (const auto& [path, content] : model) {
      constexpr char kModel[] = "/model";  // prefix of a model's files
      const size_t at = path.find(kModel);
      std::string renamed = path;
      if (at != std::string::npos) renamed.replace(at, sizeof(kModel) - 1, "/" + name);
      if (first || at != std::string::npos) files.emplace_back(std::move(renamed), content);
    }
  };
  add(relu, "prefill", true);
  add(neg, second, false);
  return exir::PackArchive(files);
}

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_TWO_MODEL_ARCHIVE_H_
