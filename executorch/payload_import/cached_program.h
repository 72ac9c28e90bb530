// Opens ExecuTorch's programs with a cache of converted ones.
#ifndef BELAY_EXECUTORCH_PAYLOAD_IMPORT_CACHED_PROGRAM_H_
#define BELAY_EXECUTORCH_PAYLOAD_IMPORT_CACHED_PROGRAM_H_

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "executorch/reader/translated_program.h"
#include "runtime/program/program.h"

namespace belay::pte {

// As OpenAnyProgram. If `options.weight_cache` names a folder and `path` is an ExecuTorch program,
// opens the program's entry in it (conversion_cache.h). If the entry is missing or can't be used,
// converts the delegates with `options.convert_delegates` and writes the entry. Calls `note` with
// the reason if an entry is replaced or can't be written; neither is an error. Programs without
// converted delegates have no entry. Also errors of ConversionCache::Create.
absl::StatusOr<belay::Program> OpenWithCache(const std::string& path, const OpenOptions& options,
                                             const std::function<void(std::string_view)>& note);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_PAYLOAD_IMPORT_CACHED_PROGRAM_H_
