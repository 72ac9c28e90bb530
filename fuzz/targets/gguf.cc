// GGUF files: the program, the tokenizer and the chat template of a model.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "exir/gguf/import_gguf.h"
#include "fuzz/oracles/require.h"
#include "fuzz/oracles/typed_status.h"
#include "fuzz/targets/recycled_ops.h"
#include "nlohmann/json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  // A copy, so that reads beyond the end are found.
  const auto file = std::make_shared<const std::string>(reinterpret_cast<const char*>(data), size);
  const absl::Span<const std::byte> bytes(reinterpret_cast<const std::byte*>(file->data()),
                                          file->size());
  const auto model = exir::ImportGguf(file, bytes, fuzz::RecycledOps());
  fuzz::Require(fuzz::CheckTyped("read", model.status(), fuzz::kReaderCodes));
  if (!model.ok()) return 0;
  for (const auto* json : {&model->tokenizer, &model->chat_template}) {
    fuzz::Require(
        fuzz::CheckTyped("convert", json->status(),
                         {absl::StatusCode::kInvalidArgument, absl::StatusCode::kUnimplemented,
                          absl::StatusCode::kNotFound}));
    if (json->ok() && !nlohmann::json::accept(**json)) {
      fuzz::Require(absl::InternalError("convert: expected JSON"));
    }
  }
  return 0;
}
