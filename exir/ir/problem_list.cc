#include "exir/ir/violation_list.h"

#include "absl/strings/str_join.h"
#include "exir/ir/text.h"
#include "runtime/core/printable.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr size_t kMaxNodeText = 1000;

}  // namespace

void ViolationList::AddNode(std::string_view rule, std::string_view where, const Graph& graph,
                            NodeId node, std::string_view problem) {
  Add(
      rule,
      [&] {
        std::string text = DescribeNode(graph, node);
        if (text.size() > kMaxNodeText) text = absl::StrCat(text.substr(0, kMaxNodeText), "…");
        return absl::StrCat(where, text);
      },
      problem);
}

absl::Status ViolationList::ToStatus() const {
  if (count_ == 0) return absl::OkStatus();
  std::string message = absl::StrJoin(lines_, "\n");
  if (count_ > lines_.size()) {
    absl::StrAppend(&message, "\nand ", count_ - lines_.size(), " more");
  }
  return absl::FailedPreconditionError(message);
}

void ViolationList::AddLine(std::string_view rule, std::string_view subject,
                            std::string_view problem) {
  lines_.push_back(Printable(absl::StrCat(rule, " ", subject, ": ", problem)));
}

}  // namespace belay::exir
