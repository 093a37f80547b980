// Makes the vectors of docs/wire_sdk.md: see README.md beside this file.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/vectors/paths.h"
#include "tests/vectors/values.h"

namespace bandana::vectors {
namespace {

Files AllFiles() {
  Files files = ValueFiles();
  files["paths.1.json"] = Paths1();
  files["paths.2.json"] = Paths2();
  files["paths.3.json"] = Paths3();
  return files;
}

std::string Slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

int Check(const std::string& folder) {
  int wrong = 0;
  for (const auto& [name, content] : AllFiles()) {
    const std::string stored = Slurp(folder + "/" + name);
    if (stored == content) continue;
    ++wrong;
    std::size_t at = 0;
    int line = 1;
    while (at < stored.size() && at < content.size() && stored[at] == content[at]) {
      line += stored[at++] == '\n' ? 1 : 0;
    }
    std::printf("%s: what is made differs from line %d on\n", name.c_str(), line);
  }
  std::printf("vectors: %d files differ\n", wrong);
  return wrong == 0 ? 0 : 1;
}

int Write(const std::string& folder) {
  for (const auto& [name, content] : AllFiles()) {
    std::ofstream(folder + "/" + name, std::ios::binary | std::ios::trunc) << content;
    std::printf("%s: %zu bytes\n", name.c_str(), content.size());
  }
  return 0;
}

int Main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
  if (verb == "check" && argc == 3) return Check(argv[2]);
  if (verb == "write" && argc == 3) return Write(argv[2]);
  if (verb == "schedules" && argc == 4) {
    for (std::uint64_t seed = number(2); seed < number(2) + number(3); ++seed) {
      std::printf("%s\n", RandomPath(seed).c_str());
    }
    return 0;
  }
  if (verb == "draws" && argc == 5) {
    std::fputs(
        RandomDraws(static_cast<int>(number(2)), static_cast<int>(number(3)), number(4)).c_str(),
        stdout);
    return 0;
  }
  std::fputs(
      "make_vectors check FOLDER | write FOLDER | schedules SEED COUNT | draws TABLES EACH SEED\n",
      stderr);
  return 2;
}

}  // namespace
}  // namespace bandana::vectors

int main(int argc, char** argv) { return bandana::vectors::Main(argc, argv); }
