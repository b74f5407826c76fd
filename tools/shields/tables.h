// The corpus as constant tables: the C++ source behind policy/shield/corpus.h.
#pragma once

#include <string>

#include "corpus_file.h"

namespace cordon::shields {

std::string tables_source(const Corpus& corpus);

}  // namespace cordon::shields
