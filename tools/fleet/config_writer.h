// The server configuration that an environment asks for.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "tools/environments/environment.h"

namespace bandana {

// Writes DIR/server.textproto with the models linucb-shared, linucb, colin, goblin and their local
// private forms, as far as they make sense in the environment: for `points` bco and ldp-bco alone;
// for `sphere` also linucb-jdp (mode JOINT), with a logistic link ldp-glm alone (LOCAL_CONTEXT);
// for `sparse` fliphat (mode JOINT; above 256 features alone); where users influence each other
// dp-colin-shaped (one central counter over all users) and also DIR/graph.mtx (W, for CoLin) and
// DIR/similarity.mtx (edge weights, for GOBLin). For `crowd` linucb-shared, linucb,
// ldp-linucb-reward, effects with its local private forms, colin and goblin over the groups of one
// level, with their graphs, DIR/users.tsv (each user's groups) and DIR/edges.txt (friends, for
// bandana-import graph). `command` is quoted in a comment at the
// top. `policy`: how models choose their arms that may say so, a SelectionPolicy in text form such
// as `softmax { temperature: 0.1 }`; "": by UCB. Errors: INVALID_ARGUMENT a policy that does not
// parse; what no server hosts (a dimension above its limit), or a recorded data set, whose
// configuration bandana-import writes; UNAVAILABLE I/O.
absl::Status WriteServerConfig(const Environment& environment, const std::string& command,
                               const std::string& folder, const std::string& policy = "");

}  // namespace bandana
