#include "tools/belay/chat_template_files.h"

#include <memory>
#include <string_view>

#include "absl/strings/str_join.h"
#include "runtime/core/annotate.h"
#include "runtime/core/bytes.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "runtime/llm/chat/chat_template.h"

namespace belay::tools {

absl::StatusOr<std::string> ReadChatTemplateFiles(const std::vector<std::string>& paths) {
  std::vector<std::shared_ptr<const MappedFile>> files;
  std::vector<std::string_view> contents;
  for (const std::string& path : paths) {
    ABSL_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file,
                          MappedFile::Open(path, {.access = FileAccess::kCopy}));
    contents.push_back(AsString(file->bytes()));
    files.push_back(std::move(file));
  }
  absl::StatusOr<std::string> json = llm::MergeChatTemplateFiles(contents);
  if (!json.ok()) return Annotate(json.status(), absl::StrJoin(paths, ", "));
  return json;
}

}  // namespace belay::tools
