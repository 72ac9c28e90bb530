// Partitioners that are made of a description of what a backend takes.
//
// Source: lowering.md rows 36–38.
#ifndef BELAY_EXIR_BACKEND_PARTITIONERS_CAPABILITY_PARTITIONER_H_
#define BELAY_EXIR_BACKEND_PARTITIONERS_CAPABILITY_PARTITIONER_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "exir/backend/partitioner.h"
#include "exir/backend/partitioners/capability.h"
#include "exir/backend/partitioners/operator_support.h"

namespace belay::exir {

// Tags everything but user inputs with one tag, the backend's id.
class AllNodePartitioner final : public Partitioner {
 public:
  explicit AllNodePartitioner(DelegationSpec delegation) : delegation_(std::move(delegation)) {}
  absl::StatusOr<PartitionResult> Partition(const ExportedProgram& program) const override;

 private:
  DelegationSpec delegation_;
};

struct CapabilityPartitionerOptions {
  ProposalOptions proposal = {};
  // A partition's tag is this and a number, which goes on from graph to graph.
  std::string tag_prefix = "tag";
  bool tag_constants = true;         // TagConstantData
  bool tag_mutated_buffers = false;  // TagMutatedBuffers
  bool bodies = true;                // of control flow, too
  // Nodes of a graph that belong together (ProposeGroupedPartitions). May be empty.
  std::function<std::vector<std::vector<NodeId>>(const ExportedProgram&, GraphId)> groups = nullptr;
};

// Tags what `support` takes, in few large partitions, and says for each other node why not.
class CapabilityPartitioner final : public Partitioner {
 public:
  using Options = CapabilityPartitionerOptions;
  CapabilityPartitioner(DelegationSpec delegation, SupportFn support, Options options = {})
      : delegation_(std::move(delegation)),
        support_(std::move(support)),
        options_(std::move(options)) {}
  absl::StatusOr<PartitionResult> Partition(const ExportedProgram& program) const override;

 private:
  DelegationSpec delegation_;
  SupportFn support_;
  Options options_;
};

// What to do with one operator (lowering.md row 38).
struct NodeConfig {
  std::string op;   // OpOverload::name()
  SupportFn check;  // may be empty: always
  // The nodes of the same graph that go with it, itself included. May be empty: itself.
  std::function<std::vector<NodeId>(const ExportedProgram&, GraphId, NodeId)> nodes;
  const OpOverload* preserve = nullptr;  // an operator that must not be decomposed before
};

// Looks up each node's configuration by operator. Lists that overlap are one partition.
class ConfigPartitioner final : public Partitioner {
 public:
  // kInvalidArgument for two configurations of one operator.
  static absl::StatusOr<ConfigPartitioner> Create(DelegationSpec delegation,
                                                  std::vector<NodeConfig> configs);
  absl::StatusOr<PartitionResult> Partition(const ExportedProgram& program) const override;
  PreservedOps OpsToNotDecompose(const ExportedProgram& program) const override;

 private:
  ConfigPartitioner(DelegationSpec delegation, std::vector<NodeConfig> configs)
      : delegation_(std::move(delegation)), configs_(std::move(configs)) {}
  const NodeConfig* Find(std::string_view op) const;

  DelegationSpec delegation_;
  std::vector<NodeConfig> configs_;  // sorted by op
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_PARTITIONERS_CAPABILITY_PARTITIONER_H_
