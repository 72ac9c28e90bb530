// Rules for names of companion files (file_format.md §6).
#ifndef BELAY_RUNTIME_SCHEMA_COMPANION_NAME_H_
#define BELAY_RUNTIME_SCHEMA_COMPANION_NAME_H_

#include <string_view>

namespace belay {

// Whether `name` may name a companion file: not empty, at most 255 bytes, no ASCII control
// characters, no directory separator of any system, not "." and not "..". UTF-8 is checked
// elsewhere, as for all strings of the metadata.
constexpr bool IsCompanionName(std::string_view name) {
  if (name.empty() || name.size() > 255 || name == "." || name == "..") return false;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '/' || c == '\\' || c == ':' || byte < 0x20 || byte == 0x7f) return false;
  }
  return true;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_SCHEMA_COMPANION_NAME_H_
