#include "exir/import/provenance_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr uint64_t kMaxTextBytes = 1 << 20;
constexpr std::string_view kFrame = "File \"";
constexpr std::string_view kLine = "\", line ";

bool InsideTorch(std::string_view file) {
  return file.starts_with("torch/") || file.find("/torch/") != std::string_view::npos ||
         file.starts_with("torch\\") || file.find("\\torch\\") != std::string_view::npos;
}

// Parses one line of a stack trace: `  File "model.py", line 12, in forward`.
bool ParseFrame(std::string_view text, std::string_view* file, int64_t* line) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  if (!text.starts_with(kFrame)) return false;
  text.remove_prefix(kFrame.size());
  const size_t end = text.find(kLine);
  if (end == std::string_view::npos) return false;
  *file = text.substr(0, end);
  text.remove_prefix(end + kLine.size());
  const std::string_view digits =
      text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size()));
  return absl::SimpleAtoi(ToAbsl(digits), line);
}

}  // namespace

bool FindUserFrame(std::string_view stack_trace, std::string_view* file, int64_t* line) {
  bool inside_torch = false;
  // Scan backwards: the innermost frame is last.
  while (!stack_trace.empty()) {
    const size_t newline = stack_trace.rfind('\n');
    const size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
    std::string_view found;
    int64_t number = 0;
    if (ParseFrame(stack_trace.substr(begin), &found, &number) && !found.empty() &&
        found.front() != '<' && (!inside_torch || !InsideTorch(found))) {
      *file = found;
      *line = number;
      if (!InsideTorch(found)) return true;
      inside_torch = true;
    }
    stack_trace = stack_trace.substr(0, begin == 0 ? 0 : begin - 1);
  }
  return inside_torch;
}

namespace {

// Returns `path,type` of the last entry of nn_module_stack; "" if the stack is empty.
std::string_view InnermostEntry(std::string_view nn_module_stack) {
  // Entries are `key,path,type`, joined by ';'. Types may contain anything inside brackets, but
  // come last in an entry, so the last ';' outside brackets begins the last entry.
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i < nn_module_stack.size(); ++i) {
    const char c = nn_module_stack[i];
    if (c == '(' || c == '[') ++depth;
    if ((c == ')' || c == ']') && depth > 0) --depth;
    if (c == ';' && depth == 0) begin = i + 1;
  }
  const std::string_view entry = nn_module_stack.substr(begin);
  const size_t path = entry.find(',');
  return path == std::string_view::npos ? "" : entry.substr(path + 1);
}

}  // namespace

std::string_view InnermostModule(std::string_view nn_module_stack) {
  const std::string_view entry = InnermostEntry(nn_module_stack);
  const size_t type = entry.find(',');
  return type == std::string_view::npos ? "" : entry.substr(0, type);
}

std::string_view InnermostModuleType(std::string_view nn_module_stack) {
  const std::string_view entry = InnermostEntry(nn_module_stack);
  const size_t type = entry.find(',');
  return type == std::string_view::npos ? "" : entry.substr(type + 1);
}

std::string_view CalledFunction(std::string_view torch_fn) {
  const size_t name = torch_fn.find(';');
  return name == std::string_view::npos ? "" : torch_fn.substr(name + 1);
}

std::shared_ptr<const std::string> ProvenanceReader::Intern(std::string_view text) {
  if (text.empty() || text.size() > kMaxTextBytes) return nullptr;
  std::shared_ptr<const std::string>& entry = texts_[std::string(text)];
  if (entry == nullptr) entry = std::make_shared<const std::string>(text);
  return entry;
}

const ProvenanceReader::SourceLine& ProvenanceReader::FindSourceLine(std::string_view stack_trace) {
  const auto [it, inserted] = source_lines_.try_emplace(stack_trace);
  if (inserted && stack_trace.size() <= kMaxTextBytes) {
    std::string_view file;
    int64_t line = 0;
    if (FindUserFrame(stack_trace, &file, &line)) it->second = {Intern(file), line};
  }
  return it->second;
}

std::shared_ptr<const std::string> ProvenanceReader::FindOrigin(std::string_view from_node) {
  const auto [it, inserted] = origins_.try_emplace(from_node);
  if (!inserted || from_node.size() > kMaxTextBytes) return it->second;
  simdjson::dom::element sources;
  if (parser_.parse(from_node.data(), from_node.size()).get(sources) != simdjson::SUCCESS)
    return nullptr;
  // Follow the last source repeatedly, up to the oldest ancestor, which has none.
  simdjson::dom::array list;
  simdjson::dom::object oldest;
  bool found = false;
  while (sources.get(list) == simdjson::SUCCESS && list.begin() != list.end()) {
    simdjson::dom::element last;
    for (simdjson::dom::element source : list) last = source;
    simdjson::dom::object source;
    if (last.get(source) != simdjson::SUCCESS) break;
    oldest = source;
    found = true;
    if (source.at_key("from_node").get(sources) != simdjson::SUCCESS) break;
  }
  std::string_view name;
  int64_t graph = 0;
  if (!found || oldest.at_key("name").get(name) != simdjson::SUCCESS ||
      oldest.at_key("graph_id").get(graph) != simdjson::SUCCESS) {
    return nullptr;
  }
  it->second = Intern(absl::StrCat(name, "@", graph));
  return it->second;
}

Provenance ProvenanceReader::Read(simdjson::dom::element metadata) {
  Provenance provenance;
  simdjson::dom::object object;
  if (metadata.get(object) != simdjson::SUCCESS) return provenance;
  for (const simdjson::dom::key_value_pair field : object) {
    std::string_view text;
    if (field.value.get(text) != simdjson::SUCCESS) continue;
    if (field.key == "stack_trace") {
      const SourceLine& source = FindSourceLine(text);
      provenance.file = source.file;
      provenance.line = source.line;
    } else if (field.key == "nn_module_stack") {
      provenance.module = Intern(InnermostModule(text));
      provenance.module_type = Intern(InnermostModuleType(text));
    } else if (field.key == "torch_fn") {
      provenance.function = Intern(CalledFunction(text));
    } else if (field.key == "from_node") {
      provenance.origin = FindOrigin(text);
    }
  }
  return provenance;
}

}  // namespace belay::exir
