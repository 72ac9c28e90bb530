// The JSON of the small model of exir/import/testing, without indentation.
#ifndef BELAY_FUZZ_NEGATIVE_MODEL_JSON_H_
#define BELAY_FUZZ_NEGATIVE_MODEL_JSON_H_

#include <string>

#include "exir/import/testing/node_json.h"

namespace belay::fuzz {

// Same arguments as exir::ProgramJson.
inline std::string ModelJson(const exir::Changes& changes = {}) {
  std::string compact;
  bool at_start = false;  // of a line; strings in the model have no line breaks
  for (const char c : exir::ProgramJson(changes)) {
    at_start = c == '\n' || (at_start && c == ' ');
    if (!at_start) compact.push_back(c);
  }
  return compact;
}

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_NEGATIVE_MODEL_JSON_H_
