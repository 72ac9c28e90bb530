#include "tools/belay/chosen_backends.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "backends/aot_backends.h"
#include "runtime/core/status_macros.h"
#include "tools/belay/printing.h"

namespace belay::tools {
namespace {

constexpr char kNone[] = "none";

struct BackendSpec {
  std::string backend;
  exir::CompileSpec spec;
};

absl::StatusOr<BackendSpec> ParseCompileSpec(const std::string& text) {
  const size_t colon = text.find(':');
  const size_t equals = text.find('=', colon == std::string::npos ? 0 : colon);
  if (colon == std::string::npos || equals == std::string::npos || colon == 0 ||
      equals == colon + 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--compile-spec takes BACKEND:KEY=VALUE, not '", OneLine(text), "'"));
  }
  return BackendSpec{text.substr(0, colon),
                     {text.substr(colon + 1, equals - colon - 1), text.substr(equals + 1)}};
}

}  // namespace

std::vector<const exir::Partitioner*> Partitioners::Pointers() const {
  std::vector<const exir::Partitioner*> list;
  for (const auto& partitioner : owned) list.push_back(partitioner.get());
  return list;
}

absl::StatusOr<Partitioners> ChooseBackends(const std::vector<std::string>& backends,
                                            const std::vector<std::string>& compile_specs) {
  std::vector<std::string> names;
  for (const std::string& list : backends) {
    for (const auto piece : absl::StrSplit(list, ',', absl::SkipEmpty())) {
      names.emplace_back(piece.data(), piece.size());
    }
  }
  const bool none = std::find(names.begin(), names.end(), kNone) != names.end();
  if (none && names.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat("--backend takes 'none' alone, not '",
                                                   OneLine(absl::StrJoin(names, ",")), "'"));
  }
  if (none) names.clear();
  std::vector<BackendSpec> specs;
  for (const std::string& text : compile_specs) {
    ABSL_ASSIGN_OR_RETURN(BackendSpec spec, ParseCompileSpec(text));
    if (std::find(names.begin(), names.end(), spec.backend) == names.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--compile-spec '", OneLine(text), "' is for a backend that --backend does not choose; ",
          names.empty() ? "it chooses none"
                        : absl::StrCat("it chooses ", OneLine(absl::StrJoin(names, ",")))));
    }
    specs.push_back(std::move(spec));
  }
  Partitioners result;
  for (const std::string& name : names) {
    std::vector<exir::CompileSpec> own;
    for (const BackendSpec& spec : specs) {
      if (spec.backend == name) own.push_back(spec.spec);
    }
    ABSL_ASSIGN_OR_RETURN(auto partitioner, CreatePartitioner(name, own));
    result.owned.push_back(std::move(partitioner));
  }
  return result;
}

}  // namespace belay::tools
