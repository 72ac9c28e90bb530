#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "bindings/c/belay_compiler.h"
#include "bindings/c/handles.h"
#include "bindings/c/opened_program.h"
#include "executorch/payload_import/cached_program.h"
#include "runtime/core/status_macros.h"
#include "tools/belay/program_file.h"

namespace belay::c {
namespace {

absl::StatusOr<std::unique_ptr<belay_program>> OpenCompiled(const char* path,
                                                            const belay_open_options* given,
                                                            int32_t threads) {
  if (path == nullptr) return Missing("a path");
  constexpr int32_t kMostThreads = 256;
  if (threads < 0 || threads > kMostThreads) {
    return absl::InvalidArgumentError(
        absl::StrCat("threads: expected 0 to ", kMostThreads, ", got ", threads));
  }
  ABSL_ASSIGN_OR_RETURN(pte::OpenOptions options, OpenOptionsOf(given));
  options.convert_delegates = tools::CpuConverter(std::max(threads, 1));
  ABSL_ASSIGN_OR_RETURN(Program program,
                        pte::OpenWithCache(path, options, [](std::string_view) {}));
  return CreateProgram(std::move(program));
}

}  // namespace
}  // namespace belay::c

belay_status belay_program_open_compiled(const char* path, const belay_open_options* options,
                                         int32_t threads, belay_program** program,
                                         belay_error** error) {
  if (program == nullptr)
    return belay::c::Report(belay::c::Missing("an output pointer for the program"), error);
  return belay::c::Give(belay::c::OpenCompiled(path, options, threads), program, error);
}
