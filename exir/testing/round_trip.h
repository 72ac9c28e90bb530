// Checks that the text form is lossless.
#ifndef BELAY_EXIR_TESTING_ROUND_TRIP_H_
#define BELAY_EXIR_TESTING_ROUND_TRIP_H_

#include "exir/ir/exported_program.h"

namespace belay::exir {

// Prints, parses and prints again. Expects equal text and no loss.
void ExpectRoundTrip(const ExportedProgram& program);

}  // namespace belay::exir

#endif  // BELAY_EXIR_TESTING_ROUND_TRIP_H_
