// The command line of `belay`: which subcommands and options there are.
#ifndef BELAY_TOOLS_BELAY_COMMAND_LINE_H_
#define BELAY_TOOLS_BELAY_COMMAND_LINE_H_

#include <iosfwd>
#include <string>
#include <vector>

#include "tools/belay/command.h"

namespace belay::tools {

// What the subcommands do.
struct Commands {
  int (*lower)(const LowerOptions&);
  int (*run)(const RunOptions&);
  int (*inspect)(const InspectOptions&);
  int (*verify)(const VerifyOptions&);
  int (*bench)(const BenchOptions&);
  int (*strip)(const StripOptions&);
  int (*stress)(const StressOptions&);
  int (*keygen)(const KeygenOptions&);
  int (*sign)(const SignOptions&);
  int (*verify_signature)(const VerifySignatureOptions&);
  int (*ops)(const OpsOptions&);
};

// Parses the arguments (without the program's name), calls the one subcommand that they name, and
// returns its exit status; kBadUsage when there is none or its options are wrong. Help goes to
// `out`, what is wrong to `error`.
int RunCommandLine(std::vector<std::string> arguments, const Commands& commands, std::ostream& out,
                   std::ostream& error);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_COMMAND_LINE_H_
