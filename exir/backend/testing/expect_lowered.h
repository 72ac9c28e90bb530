// Lowering from text form to text form, with partitions given by tags in the text.
#ifndef BELAY_EXIR_BACKEND_TESTING_EXPECT_LOWERED_H_
#define BELAY_EXIR_BACKEND_TESTING_EXPECT_LOWERED_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/backend/testing/recording_backend.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// Returns a partitioner that also tags these constants (name of the input, tag), or all that it
// can.
TextPartitioner Constants(std::vector<std::pair<std::string, std::string>> constants);
TextPartitioner AllConstants();

// Lowers with backends "recorder" and "other".
absl::StatusOr<ExportedProgram> Lower(const ExportedProgram& program,
                                      const TextPartitioner& partitioner,
                                      std::vector<std::string>* notes = nullptr);

// Expects that `text` lowers to `expected` and that the input program is unchanged.
void ExpectLowered(std::string_view text, const TextPartitioner& partitioner,
                   std::string_view expected, std::vector<std::string>* notes = nullptr);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TESTING_EXPECT_LOWERED_H_
