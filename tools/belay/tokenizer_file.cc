#include "tools/belay/tokenizer_file.h"

#include <string_view>
#include <utility>

#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"

namespace belay::tools {

absl::StatusOr<TokenizerFile> ReadTokenizerFile(const std::string& path) {
  ABSL_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file,
                        MappedFile::Open(path, {.access = FileAccess::kCopy}));
  const absl::Span<const std::byte> bytes = file->bytes();
  absl::StatusOr<llm::Tokenizer> tokenizer = llm::Tokenizer::FromJson(
      std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  if (!tokenizer.ok()) return Annotate(tokenizer.status(), path);
  return TokenizerFile{std::move(file), *std::move(tokenizer)};
}

}  // namespace belay::tools
