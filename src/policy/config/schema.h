// schema: the table of keys, as JSON Schema for editors and as the reference of docs/configuration.md. Tests compare
// both with what stands in the repository (CORDON_REGENERATE=1 writes them anew).
#pragma once

#include <string>

namespace cordon::policy::config {

/// docs/config.schema.json, whole: for editors. What a configuration is, parse() alone decides; it refuses more.
std::string json_schema();

/// The generated part of docs/configuration.md.
std::string key_reference();

}  // namespace cordon::policy::config
