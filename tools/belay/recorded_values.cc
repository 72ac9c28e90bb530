#include "tools/belay/recorded_values.h"

#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "tools/belay/printing.h"
#include "tools/belay/value_files.h"
#include "tools/profile/code_map.h"

namespace belay::tools {
namespace {

using nlohmann::json;

constexpr size_t kLongestName = 128;

// Returns the name with '_' for characters that are not for file names. Names come from the file.
std::string FileName(const std::string& name) {
  std::string file = name.substr(0, kLongestName);
  for (char& c : file) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.') c = '_';
  }
  if (file.empty() || file[0] == '.') file.insert(file.begin(), '_');
  return file;
}

json NodesOf(const CodeSite& site) {
  json nodes = json::array();
  for (const ModelNode& node : site.nodes) nodes.push_back(node.node);
  return nodes;
}

}  // namespace

void RecordedValues::OnOutputs(uint32_t owner, int64_t instruction,
                               absl::Span<EValue* const> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const EValue& value = *outputs[i];
    if (!status_.ok() || (!value.is_tensor() && !value.is_number())) continue;
    std::string file = absl::StrCat(directory_, "/value.", values_.size(), ".tmp");
    status_ = WriteNpyValue(value, file);
    values_.push_back({owner, instruction, i, std::move(file)});
  }
}

absl::StatusOr<size_t> RecordedValues::Finish(const Method& method) {
  ABSL_RETURN_IF_ERROR(status_);
  CodeMap code(method);
  std::set<std::string> files;
  json list = json::array();
  for (const Value& value : values_) {
    const Event event = {
        .id = value.instruction, .owner = value.owner, .kind = EventKind::kInstruction};
    const std::optional<size_t> index = code.SiteOf(event);
    const CodeSite site = index.has_value() ? code.sites()[*index] : CodeSite();
    const std::string name =
        FileName(site.name.empty() ? absl::StrCat("instruction_", value.instruction) : site.name);
    std::string file = name + ".npy";
    for (int use = 1; !files.insert(file).second; ++use)
      file = absl::StrCat(name, ".", use, ".npy");
    std::error_code error;
    std::filesystem::rename(value.file, directory_ + "/" + file, error);
    if (error) {
      return absl::PermissionDeniedError(
          absl::StrCat("can't rename ", value.file, ": ", error.message()));
    }
    list.push_back({{"file", file},
                    {"instruction", value.instruction},
                    {"output", value.output},
                    {"path", site.path},
                    {"name", site.name},
                    {"operator", site.op},
                    {"backend", site.backend},
                    {"nodes", NodesOf(site)},
                    {"source", site.source}});
  }
  const std::string text = JsonText(list);
  const std::string_view piece = text;
  ABSL_RETURN_IF_ERROR(
      WriteFileAtomically(directory_ + "/values.json", absl::MakeConstSpan(&piece, 1)));
  return values_.size();
}

}  // namespace belay::tools
