// What a note about a finished import lists.
#ifndef BELAY_EXIR_IMPORT_NOTE_NAMES_H_
#define BELAY_EXIR_IMPORT_NOTE_NAMES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace belay::exir {

// The first of the names that something is true of, and how many there are. Takes a constant amount
// of memory however many are added.
class NoteNames {
 public:
  void Add(std::string_view name);
  bool empty() const { return count_ == 0; }
  size_t count() const { return count_; }
  // "'a', 'b'" or "'a', 'b', 'c', 'd', 'e' and 12 more": at most five, each written as in C, so
  // that a line feed in a name is no end of a line, and cut to 80 bytes.
  std::string ToString() const;

 private:
  std::vector<std::string> first_;  // as they are written
  size_t count_ = 0;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_NOTE_NAMES_H_
