// Names that a page, a JSON file or a DOT file must escape correctly.
#ifndef BELAY_TOOLS_GRAPH_HOSTILE_NAMES_H_
#define BELAY_TOOLS_GRAPH_HOSTILE_NAMES_H_

#include <string>

namespace belay::tools {

// A name that ends scripts and attributes, calls a function, and has JavaScript line terminators,
// bytes that are not UTF-8 and a NUL.
inline std::string HostileName() {
  return std::string("</script><img src=x onerror=alert(1)>\"'`&amp;\\<!--\n\xe2\x80\xa8\xff") +
         '\0' + "${x}";
}

}  // namespace belay::tools

#endif  // BELAY_TOOLS_GRAPH_HOSTILE_NAMES_H_
