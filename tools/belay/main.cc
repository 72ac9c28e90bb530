// The `belay` command.
#include "tools/belay/command.h"

int main(int argc, char** argv) { return belay::tools::RunProcessCommand(argc, argv); }
