// Reads the input as a tokenizer_config.json or template. Then renders a template: the input is the
// messages as JSON, a zero byte, and the template.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/time/civil_time.h"
#include "fuzz/oracles/require.h"
#include "fuzz/oracles/typed_status.h"
#include "nlohmann/json.hpp"
#include "runtime/core/utf8.h"
#include "runtime/llm/chat/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  fuzz::Require(fuzz::CheckTyped("merge",
                                 llm::MergeChatTemplateFiles({bytes}, {.work = 1 << 20}).status(),
                                 fuzz::kExecutionCodes));
  const size_t zero = bytes.find('\0');
  if (zero == std::string_view::npos || !IsUtf8(bytes.substr(zero + 1))) return 0;
  const nlohmann::json config = {
      {"chat_template", bytes.substr(zero + 1)}, {"bos_token", "<s>"}, {"eos_token", "</s>"}};
  const auto chat = llm::ChatTemplate::FromJson(config.dump(), {.work = 1 << 20});
  fuzz::Require(fuzz::CheckTyped("read", chat.status(), fuzz::kExecutionCodes));
  if (!chat.ok()) return 0;
  const auto text =
      chat->Render(bytes.substr(0, zero), {.now = absl::CivilSecond(2026, 3, 4, 15, 6, 7)});
  fuzz::Require(fuzz::CheckTyped("render", text.status(), fuzz::kExecutionCodes));
  if (text.ok() && !IsUtf8(*text)) {
    fuzz::Require(absl::InternalError("render: expected text in UTF-8"));
  }
  return 0;
}
