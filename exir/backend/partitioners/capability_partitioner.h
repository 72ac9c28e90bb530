// Partitioners that are configured by a description of what a backend supports.
//
// Source: docs/lowering.md rows 36–38.
#ifndef BELAY_EXIR_BACKEND_PARTITIONERS_CAPABILITY_PARTITIONER_H_
#define BELAY_EXIR_BACKEND_PARTITIONERS_CAPABILITY_PARTITIONER_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exir/backend/partitioner.h"
#include "exir/backend/partitioners/capability.h"
#include "exir/backend/partitioners/operator_support.h"
#include "exir/backend/partitioners/pattern_match.h"

namespace belay::exir {

// Tags all nodes, parameters, buffers and tensor constants with one tag, the backend's id.
class AllNodePartitioner final : public Partitioner {
 public:
  explicit AllNodePartitioner(DelegationSpec delegation) : delegation_(std::move(delegation)) {}
  absl::StatusOr<PartitionResult> Partition(const ExportedProgram& program) const override;

 private:
  DelegationSpec delegation_;
};

struct CapabilityPartitionerOptions {
  ProposalOptions proposal = {};
  // A partition's tag is this prefix and a number. Numbers continue from graph to graph.
  std::string tag_prefix = "tag";
  bool tag_constants = true;         // TagConstantData
  bool tag_mutated_buffers = false;  // TagMutatedBuffers
  bool bodies = true;                // also partition control-flow subgraphs
  // Nodes of a graph that should be in one partition (ProposeGroupedPartitions). May be empty.
  std::function<std::vector<std::vector<NodeId>>(const ExportedProgram&, GraphId)> groups = nullptr;
};

// Tags the nodes that `support` accepts, in few large partitions, and reports the reason for every
// other node.
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

struct PatternPartitionerOptions {
  PatternMatchOptions match = {};
  // Also tags the nodes that this accepts, and reports its reasons for the others. May be null.
  SupportFn support = nullptr;
  bool keep_together = false;  // each occurrence is a group
  // `groups` is not used.
  CapabilityPartitionerOptions capability = {};
};

// Tags occurrences of patterns (FindPattern); inputs of a pattern are never tagged. Each pattern is
// a program with one graph, in any dialect.
class PatternPartitioner final : public Partitioner {
 public:
  PatternPartitioner(DelegationSpec delegation,
                     std::vector<std::shared_ptr<const ExportedProgram>> patterns,
                     PatternPartitionerOptions options = {})
      : delegation_(std::move(delegation)),
        patterns_(std::move(patterns)),
        options_(std::move(options)) {}
  // kInvalidArgument if there are neither patterns nor `support`; otherwise errors of FindPattern.
  absl::StatusOr<PartitionResult> Partition(const ExportedProgram& program) const override;

 private:
  DelegationSpec delegation_;
  std::vector<std::shared_ptr<const ExportedProgram>> patterns_;
  PatternPartitionerOptions options_;
};

// Configuration of one operator (docs/lowering.md row 38).
struct NodeConfig {
  // OpOverload::name(), or the same without the namespace: "add.Tensor" applies to that operator in
  // every namespace without its own configuration.
  std::string op;
  SupportFn check;  // may be empty: always supported
  // Returns the nodes of the same graph to partition with it, including the node. May be empty: the
  // node only.
  std::function<std::vector<NodeId>(const ExportedProgram&, GraphId, NodeId)> nodes;
  const OpOverload* preserve = nullptr;  // must not be decomposed before
};

// Looks up each node's configuration by operator. Overlapping lists are one partition.
class ConfigPartitioner final : public Partitioner {
 public:
  // kInvalidArgument for two configurations of one name.
  static absl::StatusOr<ConfigPartitioner> Create(DelegationSpec delegation,
                                                  std::vector<NodeConfig> configs);
  absl::StatusOr<PartitionResult> Partition(const ExportedProgram& program) const override;
  PreservedOps OpsToNotDecompose(const ExportedProgram& program) const override;

 private:
  ConfigPartitioner(DelegationSpec delegation, std::vector<NodeConfig> configs)
      : delegation_(std::move(delegation)), configs_(std::move(configs)) {}
  const NodeConfig* Find(std::string_view op) const;
  const NodeConfig* FindExactly(std::string_view op) const;

  DelegationSpec delegation_;
  std::vector<NodeConfig> configs_;  // sorted by op
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_PARTITIONERS_CAPABILITY_PARTITIONER_H_
