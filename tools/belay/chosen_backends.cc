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
        absl::StrCat("--compile-spec: expected BACKEND:KEY=VALUE, got '", OneLine(text), "'"));
  }
  return BackendSpec{text.substr(0, colon),
                     {text.substr(colon + 1, equals - colon - 1), text.substr(equals + 1)}};
}

// Parses "METHOD:NAMES" or "NAMES".
struct ChosenNames {
  std::string method;  // "": all methods without their own list
  std::vector<std::string> names;
};

ChosenNames& NamesOf(const std::string& method, std::vector<ChosenNames>& chosen) {
  for (ChosenNames& c : chosen) {
    if (c.method == method) return c;
  }
  return chosen.emplace_back(ChosenNames{method, {}});
}

}  // namespace

absl::StatusOr<Partitioners> ChooseBackends(const std::vector<std::string>& backends,
                                            const std::vector<std::string>& compile_specs) {
  std::vector<ChosenNames> chosen;
  for (const std::string& text : backends) {
    const size_t colon = text.rfind(':');  // Backend names have no colon.
    if (colon == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--backend: expected NAMES or METHOD:NAMES, got '", OneLine(text), "'"));
    }
    const bool all = colon == std::string::npos;
    ChosenNames& list = NamesOf(all ? "" : text.substr(0, colon), chosen);
    for (const auto piece :
         absl::StrSplit(all ? text : text.substr(colon + 1), ',', absl::SkipEmpty())) {
      list.names.emplace_back(piece.data(), piece.size());
    }
  }
  std::vector<std::string> names;  // of all methods
  for (ChosenNames& c : chosen) {
    const bool none = std::find(c.names.begin(), c.names.end(), kNone) != c.names.end();
    if (none && c.names.size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("--backend: 'none' excludes other backends, got '",
                       OneLine(absl::StrJoin(c.names, ",")), "'"));
    }
    if (none) c.names.clear();
    names.insert(names.end(), c.names.begin(), c.names.end());
  }
  std::vector<BackendSpec> specs;
  for (const std::string& text : compile_specs) {
    ABSL_ASSIGN_OR_RETURN(BackendSpec spec, ParseCompileSpec(text));
    if (std::find(names.begin(), names.end(), spec.backend) == names.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--compile-spec '", OneLine(text), "' is for a backend that --backend does not select; ",
          names.empty() ? "selected: none"
                        : absl::StrCat("selected: ", OneLine(absl::StrJoin(names, ",")))));
    }
    specs.push_back(std::move(spec));
  }
  Partitioners result;
  for (const ChosenNames& c : chosen) {
    auto& list = c.method.empty() ? result.chosen.all : result.chosen.own[c.method];
    for (const std::string& name : c.names) {
      std::vector<exir::CompileSpec> own;
      for (const BackendSpec& spec : specs) {
        if (spec.backend == name) own.push_back(spec.spec);
      }
      ABSL_ASSIGN_OR_RETURN(auto partitioner, CreatePartitioner(name, own));
      list.push_back(partitioner.get());
      result.owned.push_back(std::move(partitioner));
    }
  }
  return result;
}

}  // namespace belay::tools
