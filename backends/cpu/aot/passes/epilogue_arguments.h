// Trailing arguments of the CPU backend's operators with an epilogue.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_EPILOGUE_ARGUMENTS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_EPILOGUE_ARGUMENTS_H_

#include <limits>
#include <vector>

#include "exir/ir/argument.h"

namespace belay::cpu {

// Appends activation, combine, low and high of an identity epilogue.
inline void AppendEmptyEpilogue(std::vector<exir::Argument>& arguments) {
  arguments.insert(arguments.end(), {"none", "add", -std::numeric_limits<double>::infinity(),
                                     std::numeric_limits<double>::infinity()});
}

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_EPILOGUE_ARGUMENTS_H_
