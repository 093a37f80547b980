// The console: pages that show and change what Admin answers. Its files are in the program, hold no
// data and need no credentials; its script asks for a token where Admin does.
#pragma once

#include <string_view>

#include "server/api/http_front.h"

namespace bandana::server {

// Whether the path is `/` or one under /console.
bool IsOfConsole(std::string_view path);

// A file, or the way to one: `/` and `/console` lead to `/console/`, any other path is 404 and any
// method but GET and HEAD is 405. No answer may be framed, and its page runs and asks nothing but
// its own server's. `recipes`: recipes.json, configurations to begin with. Requires
// IsOfConsole(call.path). Threads: safe.
HttpAnswer ConsoleAnswer(const HttpCall& call, std::string_view recipes);

}  // namespace bandana::server
