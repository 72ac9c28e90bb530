// Lowering as text in, text out, with partitions that the text marks.
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

// A partitioner that also tags these constants (name of the input, tag), or all that it can.
TextPartitioner Constants(std::vector<std::pair<std::string, std::string>> constants);
TextPartitioner AllConstants();

// Lowers with backends "recorder" and "other".
absl::StatusOr<ExportedProgram> Lower(const ExportedProgram& program,
                                      const TextPartitioner& partitioner,
                                      std::vector<std::string>* notes = nullptr);

// `text` lowered is `expected`, and the program that was lowered is as it was.
void ExpectLowered(std::string_view text, const TextPartitioner& partitioner,
                   std::string_view expected, std::vector<std::string>* notes = nullptr);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TESTING_EXPECT_LOWERED_H_
