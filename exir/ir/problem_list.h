// Collects all problems of a program for one error message.
#ifndef BELAY_EXIR_IR_PROBLEM_LIST_H_
#define BELAY_EXIR_IR_PROBLEM_LIST_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "exir/ir/refused_node.h"

namespace belay::exir {

// Returns the first `max_bytes` bytes, cut between UTF-8 characters, and "…" if more follow.
std::string Shortened(std::string_view text, size_t max_bytes = 400);

// Uses constant memory regardless of the number of problems; the message is less than 64 KiB.
// Strings are untrusted: control characters are escaped (runtime/core/printable.h), and strings are
// cut after a thousand bytes.
class ProblemList {
 public:
  // `subject` returns the name of the object with the problem ("input 'x'"). It is called only if
  // the problem will be shown. Likewise `nodes`, which returns the nodes with the problem; their
  // reason is `problem` unless they have one.
  template <class Subject, class Nodes = std::vector<RefusedNode> (*)()>
  void Add(
      Subject subject, std::string_view problem,
      Nodes nodes = [] { return std::vector<RefusedNode>(); }) {
    if (count_++ < kMaxLines && bytes_ < kMaxBytes) AddLine(subject(), problem, nodes());
  }
  size_t size() const { return count_; }

  // Returns OK without problems. Otherwise an error with one line "subject: problem" each,
  // in insertion order, at most 100, then the number of the others. Lines are indented if there is
  // a `heading`. The nodes of these lines, and the subjects of lines without nodes, are the
  // RefusedNodesOf a kUnimplemented error.
  absl::Status ToStatus(absl::StatusCode code, std::string_view heading = "") const;

 private:
  static constexpr size_t kMaxLines = 100;
  static constexpr size_t kMaxBytes = size_t{48} << 10;

  void AddLine(std::string_view subject, std::string_view problem, std::vector<RefusedNode> nodes);

  std::vector<std::string> lines_;  // the lines that are shown
  std::vector<RefusedNode> nodes_;  // of these lines
  size_t count_ = 0;
  size_t bytes_ = 0;  // of the lines
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_PROBLEM_LIST_H_
