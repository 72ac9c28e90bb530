#include "tools/belay/tokenizer_file.h"

#include <string_view>
#include <utility>

#include "runtime/core/annotate.h"
#include "runtime/core/bytes.h"
#include "runtime/core/status_macros.h"

namespace belay::tools {

absl::StatusOr<TokenizerFile> ReadTokenizerFile(const std::string& path) {
  ABSL_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file,
                        MappedFile::Open(path, {.access = FileAccess::kCopy}));
  absl::StatusOr<llm::Tokenizer> tokenizer = llm::Tokenizer::FromJson(AsString(file->bytes()));
  if (!tokenizer.ok()) return Annotate(tokenizer.status(), path);
  return TokenizerFile{std::move(file), *std::move(tokenizer)};
}

}  // namespace belay::tools
