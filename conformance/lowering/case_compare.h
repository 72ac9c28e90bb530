// Compares lowered programs with what a case expects.
#ifndef BELAY_CONFORMANCE_LOWERING_CASE_COMPARE_H_
#define BELAY_CONFORMANCE_LOWERING_CASE_COMPARE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "conformance/lowering/case_partitioner.h"
#include "conformance/lowering/json_value.h"
#include "conformance/lowering/normal_form.h"
#include "conformance/lowering/open_order.h"
#include "exir/backend/to_backend.h"

namespace belay::conformance {

class CaseComparison {
 public:
  // Functions return "" when equal, else the first difference. `fqns` are the tensors that the
  // exported programs name; it must outlive this.
  explicit CaseComparison(const std::set<std::string>& fqns) : fqns_(fqns) {}

  // Which nodes carry a debug handle before anything is lowered, for debug maps. Not called: maps
  // are compared by their raw handles.
  void RecordHandles(const exir::MethodPrograms& programs);
  // The makers of the case did not see the edge program before it was lowered
  // (`transform_and_lower`), so what they say of the order of nodes means nothing.
  void IgnoreOrder() { order_is_known_ = false; }

  // The fields of expected.json.
  std::string Compare(const Json& expected, const exir::MethodPrograms& programs,
                      const Proposals& proposals);
  // Its field `lowered_module`.
  std::string CompareWhole(const Json& expected, const exir::LoweredBackendModule& module,
                           const std::string& method);
  // What was compared last, in the form of expected.json and its order: `methods`, `delegates`,
  // `partitions`. A program lowered as a whole is a method and the only delegate.
  const Json& document() const { return document_; }

 private:
  // Nodes of the edge program by id of a debug map.
  using Sources = std::map<std::string, std::set<std::string>>;

  NormalForm Form(const exir::ExportedProgram& program) const;
  void NumberDelegates(const exir::MethodPrograms& programs);
  OpenOrder OpenOrderOf(const Json& expected) const;
  LoweredForm ExpectedForm(const Json& expected, const exir::MethodPrograms& programs) const;
  // Methods and delegates.
  std::string CompareInOrder(const Json& expected, const exir::MethodPrograms& programs,
                             const Reordered& came);
  // All but the blob. `graphs` are its program's, and whether their order was changed.
  std::string CompareModule(const Json& expected, const exir::LoweredBackendModule& module,
                            const std::string& method, const Json& graphs, bool changed);
  static std::string CompareBlob(const Json& expected, const exir::LoweredBackendModule& module);
  std::string CompareRecording(const Json& expected, const exir::LoweredBackendModule& module,
                               const LoweredForm& form, size_t number) const;
  // RecordingBackend's text of the program as the form has it; nullopt for another backend.
  std::optional<std::string> RecordedInOrder(const LoweredForm& form, size_t number) const;
  Json Document(const exir::MethodPrograms& programs, const Proposals& proposals,
                const Reordered& came) const;
  Json ModuleDocument(const exir::LoweredBackendModule& module, const Json& graphs,
                      const std::optional<std::string>& recorded) const;
  // Names of tensors, or their digests.
  std::set<std::string> OwnedBy(const exir::LoweredBackendModule& module) const;
  static Sources ExpectedSources(const Json& map);
  Sources SourcesOf(const exir::LoweredBackendModule& module, const std::string& method) const;
  static std::string SourceText(const Sources& sources);
  std::string CompareDebugMap(const Json& expected, const exir::LoweredBackendModule& module,
                              const std::string& method, bool changed);

  const std::set<std::string>& fqns_;
  bool order_is_known_ = true;
  std::map<std::string, std::map<int64_t, Json::Array>> handles_;  // by method
  std::map<const exir::LoweredBackendModule*, int64_t> index_;
  std::vector<const exir::LoweredBackendModule*> modules_;
  std::map<const exir::LoweredBackendModule*, std::string> method_of_;
  Json document_;
};

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CASE_COMPARE_H_
