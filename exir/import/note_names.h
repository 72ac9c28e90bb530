// List of names in a note about a finished import.
#ifndef BELAY_EXIR_IMPORT_NOTE_NAMES_H_
#define BELAY_EXIR_IMPORT_NOTE_NAMES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace belay::exir {

// Collects the first names and counts all of them. Memory is constant, however many are added.
class NoteNames {
 public:
  void Add(std::string_view name);
  bool empty() const { return count_ == 0; }
  size_t count() const { return count_; }
  // "'a', 'b'" or "'a', 'b', 'c', 'd', 'e' and 12 more": at most five names. Each is C-escaped, so
  // that a line feed in a name does not break the line, and truncated to 80 bytes.
  std::string ToString() const;

 private:
  std::vector<std::string> first_;  // as printed
  size_t count_ = 0;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_NOTE_NAMES_H_
