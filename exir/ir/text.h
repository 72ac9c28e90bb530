// The text form: prints programs and graphs, and parses what it printed.
//
// ParseProgram(PrintProgram(p)) is a program equal to p (Equal below) but for the constants' bytes,
// which the text does not carry: it declares each constant's dtype, sizes, strides and which share
// a storage, and the parser gives it zeros. With a list of storages beside it the text is all of a
// program: it says `storage#3` where those bytes are meant (exir/serialize/saved_programs.h makes a
// file of both).
//
//   program aten {                                       // or training, edge
//     ranges { s77: [1, 512] u0: [-inf, inf] }
//     hints { s77: 4 }
//     in_spec "[1, …]"
//     out_spec "[1, …]"
//     guards {
//       "L['x'].size()[0] <= 512"
//     }
//     constants {
//       state "fc.weight": f32[10,32]
//       state "fc.tied": f32[32,10]{strides=[1,32]} shares state "fc.weight"
//       constant "scale": f32[] storage#0                 // with a list beside the text
//     }
//     graph(%p_fc_weight: f32[10,32] parameter "fc.weight",
//           %b_scale: f32[] buffer "scale" nonpersistent,
//           %x: f32[s77,32] user_input) {
//       %t: f32[32,10]{strides=[1,32]} = aten.permute.default(%p_fc_weight, [1,0])  @"m.py":12
//       %a: f32[…], [%b: …, %c: …], none = some.op.multi(%x, alpha=2.5) tag="t0"
//       return (%a user_output, 3 user_output, %b buffer_mutation "scale")
//     }
//     graph true_graph_0(…) { … }          // bodies, referred to by position: graph#1
//     module#0 backend "demo" specs ["key": "value"] {
//       blob "…"                           // base64, or storage#1
//       buffer "…"
//       data "key": buffer#0 align 16 layout f32[2,3] order [0,1]
//       external "tag" data "key": buffer#0 align 16
//       handles 1: [2,3]
//       info "…"
//       program edge { … }
//     }
//   }
//
// Tensor types are `f32[2,s0]` with `{strides=[…],offset=…,device=cuda:0,layout=…,grad}` only where
// they differ from contiguous, 0, cpu, strided, false; other types are symint(2*s0), symfloat(…),
// symbool(…), object("cls"), token, const(3). Expressions that hold brackets or quotes are quoted.
// Arguments at their schema default are left out; those after one that is left out, and
// keyword-only ones, are named. Literals: 3, 2.5 (always with '.', 'e', inf or nan), true, none,
// "text" (escapes: \n, \t, \", \\, \xHH), (1+2j), dtype:f32, format:channels_last, layout:strided,
// device:cpu, [..], {"k": v}, graph#1, module#0, op:"aten.add.Tensor", %value. Names that are no
// words are quoted: %"a name". A node's name is printed, as `name="…"`, where it differs from its
// first result's; without one, a node without results gets a name from its operator. Inputs and
// outputs of the top graph without a kind have no entry in the signature, which is not well formed.
// Comments: // to the end of the line.
#ifndef BELAY_EXIR_IR_TEXT_H_
#define BELAY_EXIR_IR_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/ir/constant.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// Canonical and complete: values are printed under their names. Lowered modules are printed with
// their original program nested (docs/lowering.md row 49 "print_delegated_graph"): `module#0 backend
// "demo" specs [...] { program … }`.
//
// With `storages`, bytes of constants and delegates are appended to it and named by number; those
// that are in it already are not appended again.
std::string PrintProgram(const ExportedProgram& program, std::vector<Storage>* storages = nullptr);
// One node as in the program, without provenance: what error messages show. "%mm: f32[2,4] =
// aten.mm.default(%x, %w)"
std::string PrintNode(const Graph& graph, NodeId node);
std::string PrintType(const ValueType& type);
std::string PrintArgument(const Graph& graph, const Argument& argument);
// PrintNode and the source line where it is known: `… (model.py:12)`. The usual subject of an
// error.
std::string DescribeNode(const Graph& graph, NodeId node);

// kInvalidArgument with line, column, what was expected and what came. Unknown operators become
// opaque ones of `ops`. Untrusted input: linear time, bounded nesting. `storages` are what the text
// names by number; constants share them.
absl::StatusOr<ExportedProgram> ParseProgram(std::string_view text, const OpRegistry& ops,
                                             absl::Span<const Storage> storages = {});

// Equal in everything that the text form shows (ids may differ; order, names, types, metadata may
// not).
bool Equal(const ExportedProgram& a, const ExportedProgram& b);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_TEXT_H_
