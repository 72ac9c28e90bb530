// Reads files of tokenizers.
#ifndef BELAY_TOOLS_BELAY_TOKENIZER_FILE_H_
#define BELAY_TOOLS_BELAY_TOKENIZER_FILE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/core/mapped_file.h"
#include "runtime/llm/tokenizer/tokenizer.h"

namespace belay::tools {

struct TokenizerFile {
  std::shared_ptr<const MappedFile> file;  // a copy: later changes of the file have no effect
  llm::Tokenizer tokenizer;
};

// Reads a Hugging Face tokenizer.json. Errors of MappedFile::Open and Tokenizer::FromJson, with the
// path.
absl::StatusOr<TokenizerFile> ReadTokenizerFile(const std::string& path);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_TOKENIZER_FILE_H_
