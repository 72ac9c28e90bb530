#include "conformance/format/example.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/executor/testing/program_builder.h"

namespace belay {
namespace {

constexpr size_t kLineBytes = 16;
constexpr size_t kOffsetDigits = 8;
constexpr size_t kDumpColumns = 39;  // of 16 bytes

// "4f00 0000 …"
std::string Dump(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0 && i % 2 == 0) text.push_back(' ');
    absl::StrAppendFormat(&text, "%02x", static_cast<uint8_t>(bytes[i]));
  }
  return text;
}

// Returns whether the line begins with an offset and a colon.
bool IsDumpLine(std::string_view line) {
  return line.size() > kOffsetDigits + 2 && line[kOffsetDigits] == ':' &&
         std::all_of(line.begin(), line.begin() + kOffsetDigits,
                     [](char c) { return absl::ascii_isxdigit(static_cast<unsigned char>(c)); });
}

}  // namespace

std::string ExampleFile() {
  TestProgram program;
  program.metadata().set_producer("belay");
  const uint32_t constant = program.AddConstant<float>({1.5f});
  TestMethod method = program.AddMethod("f");
  method.Output(method.Constant(constant, DType::kFloat32, {1}));
  return program.Serialize();
}

absl::StatusOr<std::string> WithExample(std::string_view page) {
  const std::string file = ExampleFile();
  std::vector<bool> shown(file.size(), false);
  std::string result;
  for (size_t begin = 0; begin < page.size();) {
    const size_t end = std::min(page.find('\n', begin), page.size() - 1) + 1;
    const std::string_view line = page.substr(begin, end - begin);
    begin = end;
    if (!IsDumpLine(line)) {
      result.append(line);
      continue;
    }
    size_t offset = 0;
    for (const char c : line.substr(0, kOffsetDigits)) {
      offset = 16 * offset + static_cast<size_t>(absl::ascii_isdigit(static_cast<unsigned char>(c))
                                                     ? c - '0'
                                                     : absl::ascii_tolower(c) - 'a' + 10);
    }
    if (offset >= file.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the dump has a line at ", offset, ", the file ", file.size(), " bytes"));
    }
    const size_t count = std::min(kLineBytes, file.size() - offset);
    std::fill_n(shown.begin() + static_cast<ptrdiff_t>(offset), count, true);
    std::string dump = Dump(std::string_view(file).substr(offset, count));
    dump.resize(kDumpColumns, ' ');
    constexpr size_t kTextAt = kOffsetDigits + 2 + kDumpColumns;
    const std::string_view text = line.size() > kTextAt ? line.substr(kTextAt) : "\n";
    result.append(line.substr(0, kOffsetDigits + 2)).append(dump).append(text);
  }
  for (size_t i = 0; i < file.size(); ++i) {
    if (!shown[i] && file[i] != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the dump leaves out byte ", i, ", which is not zero"));
    }
  }
  return result;
}

}  // namespace belay
