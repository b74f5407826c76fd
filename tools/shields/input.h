// Input: the data files of a generator, read and complained about; and a text as a C++ literal. Build time only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"

namespace cordon::shields {

struct File {
  std::string name, text;
};

/// False where one cannot be read, which is said.
bool read_files(int count, char** names, std::vector<File>& files);

/// Says every mistake with its line and a caret.
void say(const base::Diagnostics& mistakes, const std::vector<File>& files);

/// The text between double quotes.
std::string literal(std::string_view text);

}  // namespace cordon::shields
