#include "exir/gguf/import_gguf.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "exir/gguf/decoder_parameters.h"
#include "exir/gguf/gguf_file.h"
#include "exir/gguf/tensor_type.h"
#include "exir/gguf/tokenizer_json.h"
#include "exir/ir/verifier.h"
#include "runtime/core/annotate.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {

absl::StatusOr<GgufModel> ImportGguf(std::shared_ptr<const void> owner,
                                     absl::Span<const std::byte> bytes, const OpRegistry& ops,
                                     const GgufOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Parse(std::move(owner), bytes));
  ABSL_ASSIGN_OR_RETURN(const DecoderParameters parameters, ReadDecoderParameters(file));
  if (options.context_length < 0 || options.context_length > parameters.context_length) {
    return absl::InvalidArgumentError(absl::StrCat("context_length: expected 1 to ",
                                                   parameters.context_length, ", or 0, got ",
                                                   options.context_length));
  }
  const int64_t context_length = options.context_length != 0
                                     ? options.context_length
                                     : std::min(parameters.context_length, kDefaultContextLength);
  for (const auto& [name, value, most] :
       {std::tuple("sessions", options.sessions, kMostSessions),
        std::tuple("speculate", options.speculate, kMostSpeculated)}) {
    if (value >= 0 && value <= most) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": expected 0 to ", most, ", got ", value));
  }
  const GgufTensor* table = file.FindTensor(kTokenTable);
  const bool is_float = table != nullptr && table->type->type == TensorType::kF32;
  const DType cache_dtype =
      options.cache_dtype.value_or(is_float ? DType::kFloat32 : DType::kFloat16);
  ABSL_ASSIGN_OR_RETURN(DecoderMethods methods, BuildDecoder(file, parameters,
                                                             {.context_length = context_length,
                                                              .sessions = options.sessions,
                                                              .speculate = options.speculate,
                                                              .cache_dtype = cache_dtype},
                                                             ops));
  for (const auto& [name, program] : methods) ABSL_RETURN_IF_ERROR(Verify(program));
  return GgufModel{.methods = std::move(methods),
                   .architecture = parameters.architecture,
                   .context_length = context_length,
                   .tokenizer = TokenizerJson(file),
                   .chat_template = ChatTemplateJson(file)};
}

absl::StatusOr<GgufModel> ImportGgufFile(const std::string& path, const OpRegistry& ops,
                                         const GgufOptions& options) {
  ABSL_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  const absl::Span<const std::byte> bytes = file->bytes();
  absl::StatusOr<GgufModel> model = ImportGguf(std::move(file), bytes, ops, options);
  if (!model.ok()) return Annotate(model.status(), path);
  return model;
}

}  // namespace belay::exir
