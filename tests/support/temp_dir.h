// A fresh folder that goes away with the object.
#pragma once

#include <string>
#include <string_view>

namespace bandana::testing {

// Makes $TMPDIR (or /tmp)/bandana-test-XXXXXX; aborts the test program when it cannot.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  // path() + "/" + name.
  std::string File(std::string_view name) const;

 private:
  std::string path_;
};

}  // namespace bandana::testing
