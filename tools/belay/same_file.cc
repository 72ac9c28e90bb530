#include "tools/belay/same_file.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace belay::tools {

bool IsSameFile(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  struct stat of_a, of_b;
  const bool a_is_there = ::stat(a.c_str(), &of_a) == 0, b_is_there = ::stat(b.c_str(), &of_b) == 0;
  if (a_is_there != b_is_there) return false;
  if (a_is_there) return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
  std::error_code error;
  const std::filesystem::path path_a =
      std::filesystem::weakly_canonical(std::filesystem::absolute(a, error), error);
  if (error) return a == b;
  const std::filesystem::path path_b =
      std::filesystem::weakly_canonical(std::filesystem::absolute(b, error), error);
  return error ? a == b : path_a == path_b;
}

absl::Status CheckOutputsDifferFromArchives(const std::vector<std::string>& outputs,
                                            const std::vector<std::string>& archives) {
  for (const std::string& archive : archives) {
    for (const std::string& output : outputs) {
      if (!IsSameFile(output, archive)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(output, " can't be written: it is the input archive ", archive));
    }
  }
  return absl::OkStatus();
}

}  // namespace belay::tools
