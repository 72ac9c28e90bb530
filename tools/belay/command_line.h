// The command line of `belay`: what a subcommand and an option are, and how they are parsed.
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
inline constexpr int kUnsupported = 4;  // the complete list is on stderr

// What the values of an option must keep. The help tells all of it.
struct OptionRules {
  bool required = false;
  bool not_empty = false;                  // an empty text means something else than no option
  bool repeatable = false;                 // of a list: each time adds to it
  bool one_value = false;                  // of a list: each time one, so that arguments may follow
  int most_values = 0;                     // of a list, where it is limited
  std::optional<double> least = {};        // of a number
  std::optional<double> most = {};         // beside `least`
  std::vector<std::string> one_of = {};    // the texts that are allowed
  std::vector<std::string> excludes = {};  // names of options before this one
};

// An option, and the variable that it sets: a flag for a bool, a list for a vector.
struct Option {
  std::string name;  // "-o,--output"; an argument without a name where it has no dash
  std::variant<bool*, int*, int64_t*, uint64_t*, std::optional<uint64_t>*, double*, std::string*,
               std::vector<std::string>*>
      variable;
  std::string help;
  OptionRules rules = {};
};

// --engine.
Option EngineOption(std::string* engine);
// --threads, for commands that execute: 1 to 256.
Option ThreadsOption(int* threads);

// A subcommand.
struct Command {
  std::string name;
  std::string about;
  std::vector<Option> options;
  std::string footer;           // of its help: an example
  std::shared_ptr<void> owned;  // the variables of the options
  // Called once the options are set; returns the exit status.
  std::function<int()> run;
  // Where there is one, called before: what is wrong with the options taken together, or "".
  std::function<std::string()> problem = nullptr;
};

// Parses the arguments (without the program's name), calls the one subcommand that they name, and
// returns its exit status; kBadUsage when there is none or its options are wrong. Help goes to
// `out`, what is wrong to `error`.
int RunCommandLine(std::vector<std::string> arguments, const std::vector<Command>& commands,
                   std::ostream& out, std::ostream& error);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_COMMAND_LINE_H_
