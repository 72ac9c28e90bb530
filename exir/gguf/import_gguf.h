// Imports language models from GGUF files.
//
//   ABSL_ASSIGN_OR_RETURN(const auto ops, CreateStandardOps());
//   ABSL_ASSIGN_OR_RETURN(GgufModel model, ImportGgufFile("model.gguf", *ops));
//   // lower model.methods
#ifndef BELAY_EXIR_GGUF_IMPORT_GGUF_H_
#define BELAY_EXIR_GGUF_IMPORT_GGUF_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/gguf/decoder_program.h"
#include "exir/op_definition/op_registry.h"
#include "runtime/core/dtype.h"

namespace belay::exir {

struct GgufOptions {
  // Positions of the cache. 0: the context length of the file, at most kDefaultContextLength.
  int64_t context_length = 0;
  // DecoderOptions; at most kMostSessions and kMostSpeculated.
  int64_t sessions = 0, speculate = 0;
  // One of kCacheTypes. nullopt: float32 for a file with an embedding of F32, otherwise float16.
  std::optional<DType> cache_dtype;
};
inline constexpr int64_t kMostSessions = 256, kMostSpeculated = 64;
inline constexpr int64_t kDefaultContextLength = 4096;

struct GgufModel {
  DecoderMethods methods;  // BuildDecoder
  std::string architecture;
  int64_t context_length = 0;
  absl::StatusOr<std::string> tokenizer;      // TokenizerJson
  absl::StatusOr<std::string> chat_template;  // ChatTemplateJson
};

// Imports the model of a file, which may be any bytes. Float weights share the bytes; `owner` keeps
// them alive. `ops` must outlive the program. O(bytes); memory: at most three times the bytes, and
// the cache.
//   kInvalidArgument  options.context_length is negative or larger than that of the file;
//                     options.sessions, options.speculate or options.cache_dtype out of range
//   errors of GgufFile::Parse, ReadDecoderParameters and BuildDecoder
absl::StatusOr<GgufModel> ImportGguf(std::shared_ptr<const void> owner,
                                     absl::Span<const std::byte> bytes, const OpRegistry& ops,
                                     const GgufOptions& options = {});
// Same, for a file, which is mapped; also errors of MappedFile::Open. Errors name the path.
absl::StatusOr<GgufModel> ImportGgufFile(const std::string& path, const OpRegistry& ops,
                                         const GgufOptions& options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_GGUF_IMPORT_GGUF_H_
