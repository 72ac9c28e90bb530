#include "tools/belay/value_files.h"

#include <filesystem>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "runtime/io/npy_values.h"

namespace belay::tools {

absl::Status MakeDirectory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("can't create the directory ", path, ": ", error.message()));
}

absl::Status WriteOutputValue(const EValue& value, const std::string& directory,
                              std::string_view stem) {
  const std::string path = absl::StrCat(directory, "/", std::string(stem));
  if (value.is_none()) return absl::OkStatus();
  if (const auto* text = value.get_if<std::string_view>()) {
    return WriteFileAtomically(path + ".txt", absl::MakeConstSpan(text, 1));
  }
  return WriteNpyValue(value, path + ".npy");
}

absl::Status WriteNpyValue(const EValue& value, const std::string& path) {
  ABSL_ASSIGN_OR_RETURN(const std::string bytes, NpyBytesOf(value));
  const std::string_view piece = bytes;
  return WriteFileAtomically(path, absl::MakeConstSpan(&piece, 1));
}

}  // namespace belay::tools
