// Reads the files of --chat-template.
#ifndef BELAY_TOOLS_BELAY_CHAT_TEMPLATE_FILES_H_
#define BELAY_TOOLS_BELAY_CHAT_TEMPLATE_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace belay::tools {

// Returns the merged files as JSON for llm::ChatTemplate::FromJson. Errors of MappedFile::Open, and
// of llm::MergeChatTemplateFiles with the paths.
absl::StatusOr<std::string> ReadChatTemplateFiles(const std::vector<std::string>& paths);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_CHAT_TEMPLATE_FILES_H_
