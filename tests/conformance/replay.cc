// Runs schedules on the library and compares what the hooks were given (README.md). It is linked
// with nothing but the library, so that it runs wherever the library does.
// Usage: replay SCHEDULES. Exit 1 where anything differs.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tests/conformance/schedule_host.h"

namespace bandana::conformance {
namespace {

// JSON of lists and texts: all that schedules have.
struct Json {
  std::string text;
  std::vector<Json> list;
};

Json Read(const std::string& line, std::size_t& at) {
  Json json;
  if (line[at] == '[') {
    for (++at; line[at] != ']';) {
      json.list.push_back(Read(line, at));
      if (line[at] == ',') ++at;
    }
    ++at;
    return json;
  }
  for (++at; line[at] != '"'; ++at) {
    if (line[at] != '\\') {
      json.text += line[at];
    } else if (line[++at] == 'u') {
      json.text += static_cast<char>(std::stoi(line.substr(at + 1, 4), nullptr, 16));
      at += 4;
    } else {
      json.text += line[at] == 'n' ? '\n' : line[at];
    }
  }
  ++at;
  return json;
}

Step StepOf(const std::vector<Json>& json) {
  Step step{.wall_ns = std::stoll(json[0].text),
            .elapsed_ns = std::stoll(json[1].text),
            .kind = json[2].text,
            .text = Unhex(json[3].text),
            .number = std::stoll(json[4].text),
            .second = std::stoll(json[5].text),
            .bits = std::stoull(json[6].text)};
  for (const Json& pair : json[7].list) {
    step.headers.emplace_back(pair.list[0].text, pair.list[1].text);
  }
  return step;
}

int Main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: replay SCHEDULES\n");
    return 2;
  }
  std::ifstream file(argv[1]);
  int runs = 0, steps = 0, differences = 0;
  for (std::string line; std::getline(file, line); ++runs) {
    std::size_t at = 0;
    const Json schedule = Read(line, at);
    ScheduleHost host(std::stoull(schedule.list[0].text));
    for (const Json& json : schedule.list[1].list) {
      const std::vector<std::string> lines = host.Run(StepOf(json.list));
      ++steps;
      std::vector<std::string> expected;
      for (const Json& one : json.list[8].list) expected.push_back(one.text);
      if (lines == expected) continue;
      ++differences;
      std::printf("schedule %s, %s:\n", schedule.list[0].text.c_str(), json.list[2].text.c_str());
      for (const std::string& one : expected) std::printf("  expected %s\n", one.c_str());
      for (const std::string& one : lines) std::printf("  got      %s\n", one.c_str());
      break;
    }
  }
  std::printf("native: %d schedules, %d steps, %d differences\n", runs, steps, differences);
  return differences > 0 || runs == 0 ? 1 : 0;
}

}  // namespace
}  // namespace bandana::conformance

int main(int argc, char** argv) { return bandana::conformance::Main(argc, argv); }
