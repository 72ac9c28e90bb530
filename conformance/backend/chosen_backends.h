// The backends that a harness delegates to, and what they took of its programs: a harness that
// compares a backend which took nothing compares nothing.
#ifndef BELAY_CONFORMANCE_BACKEND_CHOSEN_BACKENDS_H_
#define BELAY_CONFORMANCE_BACKEND_CHOSEN_BACKENDS_H_

#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "exir/backend/partitioner.h"
#include "exir/ir/exported_program.h"
#include "exir/pipeline.h"

namespace belay::conformance {

class ChosenBackends {
 public:
  // The default partitioners of backends by their folders' names, in order of priority. kNotFound
  // as CreatePartitioner (backends/aot_backends.h).
  static absl::StatusOr<ChosenBackends> Create(const std::vector<std::string>& names);

  const std::vector<const exir::Partitioner*>& partitioners() const { return partitioners_; }
  // Lets the pipeline delegate to them, and counts what they have in the end. Must outlive its use.
  void AddTo(exir::PipelineOptions& options);
  // Counts the nodes in the delegates of a lowered program, by the backends' folders.
  void Count(const exir::ExportedProgram& lowered);

  // A line for each: how many nodes it took. False when one that is not `null` took none, unless
  // that is allowed.
  bool Report(std::ostream& out, bool allow_undelegated) const;

 private:
  struct Chosen {
    std::string name;
    std::vector<std::string> ids;  // of the folder's backends
  };
  std::vector<Chosen> chosen_;
  std::vector<std::unique_ptr<exir::Partitioner>> owned_;
  std::vector<const exir::Partitioner*> partitioners_;
  absl::btree_map<std::string, size_t> nodes_;  // by backend id
};

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_BACKEND_CHOSEN_BACKENDS_H_
