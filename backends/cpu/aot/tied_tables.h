// Tables that embeddings and linear layers share: stored once, in the packed layout of the layer.
#ifndef BELAY_BACKENDS_CPU_AOT_TIED_TABLES_H_
#define BELAY_BACKENDS_CPU_AOT_TIED_TABLES_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "backends/cpu/aot/constant_view.h"
#include "backends/cpu/table_layout.h"
#include "exir/ir/exported_program.h"

namespace belay::cpu {

// The tables [rows, features] of the embeddings of several partitions, and the layouts in which
// their matmuls pack the same elements, transposed. Thread-compatible.
class TiedTables {
 public:
  // Adds the tables of a partition's embeddings: static constants of float32, bfloat16 or int8 of
  // at least 1024 bytes; smaller ones are not shared by delegates. Equal tables count once. Returns
  // whether the partition has any.
  bool AddTablesOf(const exir::ExportedProgram& program);
  bool empty() const { return tables_.empty(); }

  // Whether the right side of a matmul of the partition is a table, possibly through a chain of
  // operators on their first arguments.
  bool HasMatmulOf(const exir::ExportedProgram& program) const;

  // If `matrix` [features, rows] is the transpose of a table, records its packed `layout`.
  // If a table has several layouts, keeps the first in the order of TableLayout.
  void Add(const ConstantView& matrix, TableLayout layout);
  // Adds the layouts of `copy`, a copy of this object to which other matrices were added.
  void Merge(const TiedTables& copy);

  // Returns the packed layout of a table [rows, features]; nullopt if it is not packed.
  std::optional<TableLayout> LayoutOf(const ConstantView& table) const;

 private:
  struct Table {
    exir::ConstantTensor tensor;
    std::optional<TableLayout> layout = {};
  };
  // Returns the index of the table with these elements.
  std::optional<size_t> Find(const exir::ConstantTensor& tensor) const;

  std::vector<Table> tables_;
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_TIED_TABLES_H_
