#include "exir/ir/problem_list.h"

#include "runtime/core/printable.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {

std::string Shortened(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  size_t end = max_bytes;
  while (end > 0 && max_bytes - end < 4 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
    --end;
  }
  return absl::StrCat(text.substr(0, end), "…");
}

void ProblemList::AddLine(std::string_view subject, std::string_view problem,
                          std::vector<RefusedNode> nodes) {
  constexpr size_t kMaxText = 1000;
  lines_.push_back(absl::StrCat(Shortened(Printable(subject), kMaxText), ": ",
                                Shortened(Printable(problem), kMaxText)));
  bytes_ += lines_.back().size();
  if (nodes.empty()) nodes.emplace_back().node = std::string(subject);
  for (RefusedNode& node : nodes) {
    if (node.reason.empty()) node.reason = std::string(problem);
    for (std::string* field : {&node.method, &node.node, &node.op, &node.source, &node.reason}) {
      *field = Shortened(*field, kMaxText);
    }
    nodes_.push_back(std::move(node));
  }
}

absl::Status ProblemList::ToStatus(absl::StatusCode code, std::string_view heading) const {
  if (count_ == 0) return absl::OkStatus();
  const std::string_view separator = heading.empty() ? "\n" : "\n  ";
  std::string message(heading);
  for (const std::string& line : lines_) {
    absl::StrAppend(&message, message.empty() ? "" : separator, line);
  }
  if (count_ > lines_.size()) {
    absl::StrAppend(&message, separator, "and ", count_ - lines_.size(), " more");
  }
  absl::Status status(code, message);
  if (code == absl::StatusCode::kUnimplemented) AddRefusedNodes(nodes_, status);
  return status;
}

}  // namespace belay::exir
