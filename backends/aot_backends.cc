#include "backends/aot_backends.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/core/status_macros.h"

namespace belay {

#define BELAY_BACKEND(name) \
  namespace name {          \
  AotBackend Aot();         \
  }
#include "backends/backend_list.inc"
#undef BELAY_BACKEND

ABSL_ATTRIBUTE_WEAK std::vector<AotBackend> MoreAotBackends() { return {}; }

namespace {

const std::vector<AotBackend>& All() {
  static const auto& all = *[] {
    auto* backends = new std::vector<AotBackend>{
#define BELAY_BACKEND(name) name::Aot(),
#include "backends/backend_list.inc"
#undef BELAY_BACKEND
    };
    for (AotBackend& more : MoreAotBackends()) backends->push_back(std::move(more));
    return backends;
  }();
  return all;
}

}  // namespace

const exir::BackendSet& AotBackends() {
  static const exir::BackendSet& set = *[] {
    auto* result = new exir::BackendSet;
    for (const AotBackend& entry : All()) {
      for (const exir::Backend* backend : entry.backends) ABSL_CHECK(result->Add(backend).ok());
    }
    return result;
  }();
  return set;
}

std::vector<std::string_view> AotBackendNames() {
  std::vector<std::string_view> names;
  for (const AotBackend& entry : All()) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string_view> AotBackendIds(std::string_view backend) {
  std::vector<std::string_view> ids;
  for (const AotBackend& entry : All()) {
    if (entry.name != backend) continue;
    for (const exir::Backend* one : entry.backends) ids.push_back(one->id());
  }
  return ids;
}

absl::StatusOr<std::unique_ptr<exir::Partitioner>> CreatePartitioner(
    std::string_view backend, absl::Span<const exir::CompileSpec> compile_specs) {
  for (const AotBackend& entry : All()) {
    if (entry.name == backend) return entry.create_partitioner(compile_specs);
  }
  std::vector<std::string> known;
  for (std::string_view name : AotBackendNames()) known.emplace_back(name);
  return absl::NotFoundError(absl::StrCat("unknown backend '", backend,
                                          "'; this build has: ", absl::StrJoin(known, ", ")));
}

}  // namespace belay
