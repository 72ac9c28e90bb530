// The backends that a harness delegates to, with the number of nodes that each accepted. A
// comparison with a backend that accepted no nodes would be vacuous.
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
  // Creates the default partitioners of backends by folder name, in order of priority. kNotFound as
  // CreatePartitioner (backends/aot_backends.h).
  static absl::StatusOr<ChosenBackends> Create(const std::vector<std::string>& names);

  const std::vector<const exir::Partitioner*>& partitioners() const { return partitioners_; }
  // Adds the partitioners to the pipeline, and counts the nodes of the final delegates. This must
  // outlive `options`.
  void AddTo(exir::PipelineOptions& options);
  // Counts the nodes in the delegates of a lowered program, by backend folder.
  void Count(const exir::ExportedProgram& lowered);

  // Prints one line per backend with its number of nodes. Returns false if a backend other than
  // `null` has no nodes, unless `allow_undelegated`.
  bool Report(std::ostream& out, bool allow_undelegated) const;

 private:
  struct Chosen {
    std::string name;
    std::vector<std::string> ids;  // backend ids of the folder
  };
  std::vector<Chosen> chosen_;
  std::vector<std::unique_ptr<exir::Partitioner>> owned_;
  std::vector<const exir::Partitioner*> partitioners_;
  absl::btree_map<std::string, size_t> nodes_;  // by backend id
};

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_BACKEND_CHOSEN_BACKENDS_H_
