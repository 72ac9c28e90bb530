#include "tools/belay/metric_command.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime/program/metadata_path.h"

namespace belay::tools {

absl::StatusOr<double> RunMetric(const std::string& command, const std::string& file) {
  const std::string quoted = absl::StrCat("'", absl::StrReplaceAll(file, {{"'", "'\\''"}}), "'");
  std::fflush(nullptr);
  std::FILE* output = popen(absl::StrCat(command, " ", quoted).c_str(), "r");
  if (output == nullptr) return absl::UnavailableError("--metric: cannot start a shell");
  constexpr size_t kKept = 4096;
  std::string text;
  std::array<char, kKept> buffer;
  for (size_t count; (count = std::fread(buffer.data(), 1, buffer.size(), output)) > 0;) {
    text.append(buffer.data(), count);
    if (text.size() > kKept) text.erase(0, text.size() - kKept);
  }
  const int status = pclose(output);
  absl::StripAsciiWhitespace(&text);
  const std::string line = text.substr(text.rfind('\n') + 1);
  double metric = 0;
  if (status != 0 || !absl::SimpleAtod(line, &metric) || !std::isfinite(metric)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--metric: expected exit status 0 and a number on the last line, got ",
                     status == 0 ? "" : "another status and ", Quoted(line)));
  }
  return metric;
}

}  // namespace belay::tools
