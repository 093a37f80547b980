#include "client/core/table_forms.h"

#include <cstddef>

namespace bandana::device {
namespace {

constexpr auto kInteger = Column::Kind::kInteger;
constexpr auto kReal = Column::Kind::kReal;
constexpr auto kBytes = Column::Kind::kBytes;

constexpr Column kStoreColumns[] = {
    {"id", kInteger},           {"identity", kBytes},      {"run", kInteger},
    {"forgotten", kInteger},    {"position", kInteger},    {"lost_events", kInteger},
    {"lost_streams", kInteger}, {"ledger_base", kInteger}, {"ledger_base_hash", kBytes},
    {"key_check", kBytes}};
constexpr Column kPolicyColumns[] = {
    {"id", kInteger}, {"model", kBytes}, {"hash", kBytes}, {"epsilon", kReal}, {"delta", kReal}};
constexpr Column kLedgerColumns[] = {
    {"sequence", kInteger}, {"policy", kInteger}, {"user", kBytes},
    {"epoch", kInteger},    {"stream", kBytes},   {"events", kInteger},
    {"streams", kInteger},  {"cost", kInteger},   {"hash", kBytes}};
constexpr Column kReportColumns[] = {
    {"number", kInteger},  {"policy", kInteger}, {"owner", kInteger}, {"state", kInteger},
    {"wake_at", kInteger}, {"due_at", kInteger}, {"user", kBytes},    {"content", kBytes}};
constexpr Column kStreamColumns[] = {
    {"id", kInteger},           {"policy", kInteger}, {"owner", kInteger}, {"user", kBytes},
    {"epoch", kInteger},        {"stream", kBytes},   {"end", kInteger},   {"step", kInteger},
    {"acknowledged", kInteger}, {"state", kBytes}};
constexpr Column kStepColumns[] = {
    {"stream", kInteger}, {"step", kInteger}, {"number", kInteger}, {"content", kBytes}};
constexpr Column kDrawnColumns[] = {{"number", kInteger}, {"forget_at", kInteger}};
constexpr Column kKeptColumns[] = {{"model", kBytes}, {"name", kBytes}, {"content", kBytes}};

// Without owner, state, wake_at and acknowledged, which change without the content.
constexpr int kReportDigest[] = {0, 1, 5, 6, 7};
constexpr int kStreamDigest[] = {0, 1, 3, 4, 5, 6, 7, 9};
constexpr int kStepDigest[] = {0, 1, 2, 3};
constexpr int kReportBound[] = {0};
constexpr int kStreamBound[] = {0, 7};
constexpr int kStepBound[] = {0, 1};
constexpr int kKeptBound[] = {0, 1};

// In the order of Table.
constexpr TableForm kForms[kTables] = {
    {.name = "store", .columns = kStoreColumns},
    {.name = "policies", .columns = kPolicyColumns},
    {.name = "ledger", .columns = kLedgerColumns},
    {.name = "reports",
     .columns = kReportColumns,
     .sealed = 7,
     .bound = kReportBound,
     .digested = kReportDigest},
    {.name = "streams",
     .columns = kStreamColumns,
     .sealed = 9,
     .empty_in_clear = true,
     .bound = kStreamBound,
     .digested = kStreamDigest},
    {.name = "steps",
     .columns = kStepColumns,
     .keys = 2,
     .sealed = 3,
     .bound = kStepBound,
     .digested = kStepDigest},
    {.name = "drawn", .columns = kDrawnColumns},
    {.name = "kept", .columns = kKeptColumns, .keys = 2, .sealed = 2, .bound = kKeptBound},
};

}  // namespace

const TableForm& FormOf(Table table) { return kForms[static_cast<std::size_t>(table)]; }

}  // namespace bandana::device
