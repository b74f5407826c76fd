// docs/shields.md, whole, from the corpus.
#pragma once

#include <string>

#include "corpus_file.h"

namespace cordon::shields {

std::string page(const Corpus& corpus);

}  // namespace cordon::shields
