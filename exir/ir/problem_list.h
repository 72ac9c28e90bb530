// Everything that is wrong with a program, to be reported at once.
#ifndef BELAY_EXIR_IR_PROBLEM_LIST_H_
#define BELAY_EXIR_IR_PROBLEM_LIST_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace belay::exir {

// The first `max_bytes` bytes, cut between characters of UTF-8, and "…" for the rest.
std::string Shortened(std::string_view text, size_t max_bytes = 400);

// Takes a constant amount of memory however much is added, and makes a message of less than 64 KiB.
// Texts are what a file says: control characters are escaped (runtime/core/printable.h), and what
// is beyond a thousand bytes is left out.
class ProblemList {
 public:
  // `subject` makes the text of what has the problem ("input 'x'"); it is called only when the
  // problem will be shown.
  template <class Subject>
  void Add(Subject subject, std::string_view problem) {
    if (count_++ < kMaxLines && bytes_ < kMaxBytes) AddLine(subject(), problem);
  }
  size_t size() const { return count_; }

  // OK when there is none; else an error with a line "subject: problem" for each in the order in
  // which they came, at most 100, then how many more. Below `heading` lines are indented.
  absl::Status ToStatus(absl::StatusCode code, std::string_view heading = "") const;

 private:
  static constexpr size_t kMaxLines = 100;
  static constexpr size_t kMaxBytes = size_t{48} << 10;

  void AddLine(std::string_view subject, std::string_view problem);

  std::vector<std::string> lines_;  // the first of them
  size_t count_ = 0;
  size_t bytes_ = 0;  // of the lines
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_PROBLEM_LIST_H_
