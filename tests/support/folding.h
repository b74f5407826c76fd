// FoldingMount: a directory shown once more, where a name is found whatever the case of its letters, and each spelling
// has an entry of its own in the kernel: what 9p, virtiofs and FUSE show of directories of Windows and macOS. Served by
// a process of the test's own over /dev/fuse, since no kernel has to have a file system that folds case. Root only.
//
// Files can be read, and written where they are; nothing is made or removed there.
#pragma once

#include <sys/types.h>

#include <string>

namespace cordon::test {

class FoldingMount {
 public:
  FoldingMount(const std::string& backing, std::string point);
  ~FoldingMount();
  FoldingMount(const FoldingMount&) = delete;
  FoldingMount& operator=(const FoldingMount&) = delete;

 private:
  std::string point_;
  pid_t server_ = -1;
};

}  // namespace cordon::test
