// decode: a tree of YAML -> a Policy as written, by the table of keys. Every problem of the tree is reported; the
// Policy is meaningless as soon as there is one.
#pragma once

#include "policy/manifest/source.h"
#include "policy/manifest/yaml_tree.h"
#include "policy/policy.h"

namespace cordon::policy::manifest {

Policy decode(const Source& source, const Tree& tree, Problems& problems);

}  // namespace cordon::policy::manifest
