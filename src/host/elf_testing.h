// For the tests of this room: ELF files of this machine with nothing in them but what they need. Not part of the
// library.
#pragma once

#include <elf.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::host::testing {

struct ElfSpec {
  std::vector<std::string> needed;
  std::string rpath, runpath;
  std::string interpreter;
};

template <class T>
void append(std::string& bytes, const T& object) {
  bytes.append(reinterpret_cast<const char*>(&object), sizeof object);
}

/// Headers, one PT_LOAD over all of it at address 0x10000, PT_DYNAMIC, its strings, PT_INTERP where one is named.
inline std::string elf_file(const ElfSpec& spec) {
  constexpr Elf64_Addr kBase = 0x10000;
  std::string strings(1, '\0');
  std::vector<Elf64_Dyn> entries;
  const auto add = [&](Elf64_Sxword tag, std::string_view text) {
    Elf64_Dyn entry{};
    entry.d_tag = tag;
    entry.d_un.d_val = strings.size();
    entries.push_back(entry);
    strings.append(text).push_back('\0');
  };
  for (const std::string& name : spec.needed) add(DT_NEEDED, name);
  if (!spec.rpath.empty()) add(DT_RPATH, spec.rpath);
  if (!spec.runpath.empty()) add(DT_RUNPATH, spec.runpath);
  const std::size_t headers = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr);
  const std::size_t dynamic = (entries.size() + 3) * sizeof(Elf64_Dyn);
  const std::size_t text = headers + dynamic + strings.size();
  const auto tail = [&](Elf64_Sxword tag, Elf64_Xword value) {
    Elf64_Dyn entry{};
    entry.d_tag = tag;
    entry.d_un.d_val = value;
    entries.push_back(entry);
  };
  tail(DT_STRTAB, kBase + headers + dynamic);
  tail(DT_STRSZ, strings.size());
  tail(DT_NULL, 0);

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
#if defined(__x86_64__)
  header.e_machine = EM_X86_64;
#else
  header.e_machine = EM_AARCH64;
#endif
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 3;
  Elf64_Phdr load{}, table{}, interpreter{};
  load.p_type = PT_LOAD;
  load.p_vaddr = kBase;
  load.p_filesz = load.p_memsz = text;
  table.p_type = PT_DYNAMIC;
  table.p_offset = headers;
  table.p_filesz = dynamic;
  interpreter.p_type = spec.interpreter.empty() ? PT_NULL : PT_INTERP;
  interpreter.p_offset = text;
  interpreter.p_filesz = spec.interpreter.size() + 1;
  std::string out;
  append(out, header);
  append(out, load);
  append(out, table);
  append(out, interpreter);
  for (const Elf64_Dyn& entry : entries) append(out, entry);
  out += strings;
  if (!spec.interpreter.empty()) out.append(spec.interpreter).push_back('\0');
  return out;
}

}  // namespace cordon::host::testing
