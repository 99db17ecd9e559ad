#include "fst/fault.h"

namespace textmill::fst {

void fail_with(std::initializer_list<base::Part> parts) { throw Fault(base::join(parts)); }

}  // namespace textmill::fst
