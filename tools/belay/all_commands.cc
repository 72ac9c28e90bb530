#include "tools/belay/command.h"

namespace belay::tools {

std::vector<Command> AllCommands() {
  return {
      LowerCommand(),  QuantizeCommand(), RunCommand(),      InspectCommand(),
      VerifyCommand(), BenchCommand(),    ProfileCommand(),  StripCommand(),
      StressCommand(), KeygenCommand(),   SignCommand(),     VerifySignatureCommand(),
      OpsCommand(),    BackendsCommand(), GenerateCommand(), ImportGgufCommand(),
      DiffCommand(),   BundleCommand(),
  };
}

}  // namespace belay::tools
