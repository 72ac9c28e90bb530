#include "tools/belay/command.h"

namespace belay::tools {

std::vector<Command> AllCommands() {
  return {
      LowerCommand(),           RunCommand(),   InspectCommand(),  VerifyCommand(), BenchCommand(),
      ProfileCommand(),         StripCommand(), StressCommand(),   KeygenCommand(), SignCommand(),
      VerifySignatureCommand(), OpsCommand(),   GenerateCommand(),
  };
}

}  // namespace belay::tools
