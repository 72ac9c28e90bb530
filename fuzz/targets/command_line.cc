// Command lines, one argument per line. Parsed options must obey the rules in their help.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "fuzz/oracles/require.h"
#include "runtime/core/str_cat.h"
#include "tools/belay/command.h"
#include "tools/belay/command_line.h"

namespace {

using namespace belay::tools;

// An exit status that no parser returns.
constexpr int kCalled = 77;

// Returns whether a value obeys the rules of its option.
bool Keeps(const OptionRules&, bool) { return true; }
bool Keeps(const OptionRules&, const std::optional<uint64_t>&) { return true; }
bool Keeps(const OptionRules& rules, const std::string& text) {
  return (!rules.not_empty || !text.empty()) &&
         (rules.one_of.empty() || std::ranges::count(rules.one_of, text) > 0);
}
bool Keeps(const OptionRules& rules, const std::vector<std::string>& texts) {
  return (!rules.required || !texts.empty()) &&
         (rules.most_values == 0 || texts.size() <= static_cast<size_t>(rules.most_values));
}
template <class Number>
bool Keeps(const OptionRules& rules, const Number& number) {
  return (!rules.least.has_value() || static_cast<double>(number) >= *rules.least) &&
         (!rules.most.has_value() || static_cast<double>(number) <= *rules.most);
}

// Returns the subcommands with functions that check their options instead of running: options have
// their default values or obey their rules.
std::vector<Command> CheckingCommands() {
  std::vector<Command> commands = AllCommands();
  for (Command& command : commands) {
    command.run = [name = command.name, options = command.options] {
      const std::vector<Command> untouched = AllCommands();
      const auto same = std::ranges::find(untouched, name, &Command::name);
      for (size_t i = 0; i < options.size(); ++i) {
        std::visit(
            [&]<class T>(const T* value) {
              const T& unset = *std::get<T*>(same->options[i].variable);
              if (*value == unset && !options[i].rules.required) return;
              if (Keeps(options[i].rules, *value)) return;
              belay::fuzz::Require(absl::InternalError(absl::StrCat(name, " ", options[i].name)));
            },
            options[i].variable);
      }
      return kCalled;
    };
  }
  return commands;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> arguments;
  while (!text.empty() && arguments.size() < 64) {
    const size_t end = std::min(text.find('\n'), text.size());
    arguments.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::ostringstream out, error;
  const int status = RunCommandLine(arguments, CheckingCommands(), out, error);
  const bool said = !out.str().empty() || !error.str().empty();
  if (status != kCalled && status != kDone && status != kBadUsage) {
    belay::fuzz::Require(absl::InternalError(absl::StrCat("exit status ", status)));
  }
  if (status == kBadUsage && !said) {
    belay::fuzz::Require(absl::InternalError("bad usage, and not a word why"));
  }
  return 0;
}
