// Which server should own which model.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace bandana::server {

// The place of a server in the order in which servers should own the model of this log, 0 first.
// Rendezvous hashing: each server's turn is a hash of log and address, so models spread evenly, and
// a server that comes or goes moves none of the others' models. `self` counts as one of `servers`,
// whether or not it is among them. All servers find the same order.
std::size_t RankOf(std::string_view log, std::span<const std::string> servers,
                   const std::string& self);

// The server with rank 0. Requires at least one.
const std::string& FirstOf(std::string_view log, std::span<const std::string> servers);

}  // namespace bandana::server
