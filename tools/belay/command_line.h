// The command line of `belay`: descriptions of subcommands and options, and their parser.
#ifndef BELAY_TOOLS_BELAY_COMMAND_LINE_H_
#define BELAY_TOOLS_BELAY_COMMAND_LINE_H_

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace belay::tools {

// Exit statuses, the same for all subcommands.
inline constexpr int kDone = 0;
inline constexpr int kNegative = 1;  // verify found a difference, a gate failed
inline constexpr int kBadUsage = 2;
inline constexpr int kBadInput = 3;     // a file can't be read, or what is in it is wrong
inline constexpr int kUnsupported = 4;  // all unsupported features are listed on stderr

// Constraints on the values of an option; the help lists all of them.
struct OptionRules {
  bool required = false;
  bool not_empty = false;                  // an empty string is rejected
  bool repeatable = false;                 // of a list: each occurrence appends
  bool one_value = false;                  // of a list: one value per occurrence
  int most_values = 0;                     // of a list; 0: unlimited
  std::optional<double> least = {};        // of a number
  std::optional<double> most = {};         // used together with `least`
  std::vector<std::string> one_of = {};    // the allowed strings
  std::vector<std::string> excludes = {};  // names of earlier options that conflict with it
};

// An option and the variable that it sets: a flag for a bool, a list for a vector.
struct Option {
  std::string name;  // "-o,--output"; without a dash: a positional argument
  std::variant<bool*, int*, int64_t*, uint64_t*, std::optional<uint64_t>*, double*, std::string*,
               std::vector<std::string>*>
      variable;
  std::string help;
  OptionRules rules = {};
};

// Returns the option --engine.
Option EngineOption(std::string* engine);
// Returns the option --threads, for commands that execute: 1 to 256.
Option ThreadsOption(int* threads);

// A subcommand.
struct Command {
  std::string name;
  std::string about;
  std::vector<Option> options;
  std::string footer;           // of its help: an example
  std::shared_ptr<void> owned;  // the variables of the options
  // Called after the options are set; returns the exit status.
  std::function<int()> run;
  // Optional check before `run`: returns an error in the combination of options, or "".
  std::function<std::string()> problem = nullptr;
};

// Parses the arguments (without the program's name), runs the subcommand, and returns its exit
// status. Returns kBadUsage if the subcommand is missing or its options are invalid. Prints help to
// `out` and errors to `error`.
int RunCommandLine(std::vector<std::string> arguments, const std::vector<Command>& commands,
                   std::ostream& out, std::ostream& error);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_COMMAND_LINE_H_
