// What whoever imports an archive should know of it, though it is no error. Source: docs/pt2-format.md
// §4, §10, §14 item 22.
#ifndef BELAY_EXIR_IMPORT_IMPORT_NOTES_H_
#define BELAY_EXIR_IMPORT_IMPORT_NOTES_H_

#include <string>
#include <vector>

#include "exir/import/note_names.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// At most one note for each of: tensors that have elements, but no bytes in the archive
// (`zero_filled`); values on another device than the CPU; symbols that have a range, but are in no
// value's type. Lines for a terminal, of a few hundred bytes each. Takes time linear in the
// program.
std::vector<std::string> ImportNotes(const ExportedProgram& program, const NoteNames& zero_filled);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_IMPORT_NOTES_H_
