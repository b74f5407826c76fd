// schema: the table of keys, as JSON Schema for editors and as the key reference of docs/manifest.md. Tests compare
// both with what stands in the repository (CORDON_REGENERATE=1 writes them anew).
#pragma once

#include <string>

namespace cordon::policy::manifest {

/// docs/manifest.schema.json, whole: for editors. What a manifest is, parse() alone decides; it refuses more.
std::string json_schema();

/// The generated part of docs/manifest.md.
std::string key_reference();

}  // namespace cordon::policy::manifest
