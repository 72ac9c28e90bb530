#include "executorch/payload_import/cached_program.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "executorch/payload_import/program_image.h"
#include "executorch/reader/conversion_cache.h"
#include "executorch/reader/open_any_program.h"
#include "executorch/reader/open_program.h"
#include "exir/emit/program_image.h"
#include "exir/serialize/serializer.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"

namespace belay::pte {
namespace {

absl::Status Store(const TranslatedProgram& program, const ConversionCache& cache) {
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image, ImageOf(program));
  ABSL_ASSIGN_OR_RETURN(const exir::SerializedProgram file, exir::SerializeProgram(image));
  return cache.Store(file.pieces);
}

}  // namespace

absl::StatusOr<belay::Program> OpenWithCache(const std::string& path, const OpenOptions& options,
                                             const std::function<void(std::string_view)>& note) {
  if (options.weight_cache.empty()) return OpenAnyProgram(path, options);
  // Only ExecuTorch programs have entries: opening one does not read the program.
  const absl::StatusOr<ConversionCache> cache = ConversionCache::Create(path, options);
  absl::StatusOr<belay::Program> cached = cache.ok() ? cache->Open() : cache.status();
  if (cached.ok()) return cached;
  ABSL_ASSIGN_OR_RETURN(const bool is_pte, IsProgramFileAt(path));
  if (!is_pte) return OpenAnyProgram(path, options);
  ABSL_RETURN_IF_ERROR(cache.status());
  if (!absl::IsNotFound(cached.status())) {
    note(absl::StrCat("weight cache: ", cached.status().message(), "; it is replaced"));
  }
  ABSL_ASSIGN_OR_RETURN(const TranslatedProgram translated, TranslateProgram(path, options));
  absl::StatusOr<belay::Program> program = OpenTranslated(translated);
  if (!program.ok()) return Annotate(program.status(), path);
  if (translated.converted) {
    const absl::Status stored = Store(translated, *cache);
    if (!stored.ok()) {
      note(absl::StrCat("weight cache: no entry for ", path, ": ", stored.message()));
    }
  }
  return program;
}

}  // namespace belay::pte
