// What a verifier found wrong with a program, to be reported at once.
#ifndef BELAY_EXIR_IR_VIOLATION_LIST_H_
#define BELAY_EXIR_IR_VIOLATION_LIST_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "exir/ir/graph.h"

namespace belay::exir {

// A program of any size, with anything wrong, makes a report of bounded length. What is printed is
// what a file says, so control characters are escaped (runtime/core/printable.h).
class ViolationList {
 public:
  // Of the rule of this name ("V7"). `subject` makes the text of what is wrong; it is called only
  // when the violation is reported.
  template <class Subject>
  void Add(std::string_view rule, Subject subject, std::string_view problem) {
    if (count_++ < kMaxReported) AddLine(rule, subject(), problem);
  }
  // The subject is a node in text form, behind `where` ("in module#0 of backend b: ").
  void AddNode(std::string_view rule, std::string_view where, const Graph& graph, NodeId node,
               std::string_view problem);

  // OK when there is none; else kFailedPrecondition with a line for each: the rule, the subject and
  // the problem. At most 100, then how many more.
  absl::Status ToStatus() const;

 private:
  static constexpr size_t kMaxReported = 100;

  void AddLine(std::string_view rule, std::string_view subject, std::string_view problem);

  std::vector<std::string> lines_;
  size_t count_ = 0;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_VIOLATION_LIST_H_
