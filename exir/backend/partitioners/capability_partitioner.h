// Partitioners that are made of a description of what a backend takes.
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

struct PatternPartitionerOptions {
  PatternMatchOptions match = {};
  // Takes these nodes besides, and reasons for the others. May be null.
  SupportFn support = nullptr;
  bool keep_together = false;  // each occurrence is a group
  // `groups` is not used.
  CapabilityPartitionerOptions capability = {};
};

// Tags where patterns occur (FindPattern); a pattern's inputs are never tagged. Each is a program
// of one graph, in any dialect.
class PatternPartitioner final : public Partitioner {
 public:
  PatternPartitioner(DelegationSpec delegation,
                     std::vector<std::shared_ptr<const ExportedProgram>> patterns,
                     PatternPartitionerOptions options = {})
      : delegation_(std::move(delegation)),
        patterns_(std::move(patterns)),
        options_(std::move(options)) {}
  // kInvalidArgument when there are neither patterns nor `support`, and as FindPattern.
  absl::StatusOr<PartitionResult> Partition(const ExportedProgram& program) const override;

 private:
  DelegationSpec delegation_;
  std::vector<std::shared_ptr<const ExportedProgram>> patterns_;
  PatternPartitionerOptions options_;
};

// What to do with one operator (docs/lowering.md row 38).
struct NodeConfig {
  // OpOverload::name(), or the same without the namespace: "add.Tensor" is that operator of any
  // namespace that has no configuration of its own.
  std::string op;
  SupportFn check;  // may be empty: always
  // The nodes of the same graph that go with it, itself included. May be empty: itself.
  std::function<std::vector<NodeId>(const ExportedProgram&, GraphId, NodeId)> nodes;
  const OpOverload* preserve = nullptr;  // an operator that must not be decomposed before
};

// Looks up each node's configuration by operator. Lists that overlap are one partition.
class ConfigPartitioner final : public Partitioner {
 public:
  // kInvalidArgument for two configurations under one name.
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
