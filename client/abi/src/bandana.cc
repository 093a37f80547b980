// The functions of bandana.h.
#include "client/abi/include/bandana.h"

#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "client/abi/src/error.h"
#include "client/abi/src/from_c.h"
#include "client/abi/src/handles.h"
#include "client/abi/src/hosted_device.h"
#include "client/abi/src/to_c.h"
#include "client/core/sealed_rows.h"
#include "client/core/store_row.h"
#include "common/base/status.h"
#include "common/base/version.h"

namespace bandana::abi {
namespace {

using device::ClientCore;

constexpr int kKeyCheckColumn = 9;  // of the table `store`

// Runs `body` with the device, which lives until then.
template <typename Body>
std::int32_t On(bandana_device number, Body body) {
  const std::shared_ptr<HostedDevice> device = FindDevice(number);
  if (device == nullptr) {
    return Returned(InvalidArgument("device ", number, " does not live: it was freed, or is none"));
  }
  return Returned(body(*device));
}

absl::Status CheckHooks(const bandana_hooks* hooks) {
  BANDANA_RETURN_IF_ERROR(CheckStruct("hooks", hooks));
  const struct {
    const char* name;
    bool given;
  } needed[] = {
      {"call", hooks->call != nullptr},       {"commit", hooks->commit != nullptr},
      {"wall_ns", hooks->wall_ns != nullptr}, {"elapsed_ns", hooks->elapsed_ns != nullptr},
      {"wake", hooks->wake != nullptr},       {"tell", hooks->tell != nullptr}};
  for (const auto& hook : needed) {
    if (!hook.given) return InvalidArgument("hooks.", hook.name, " must not be null");
  }
  return absl::OkStatus();
}

// Tells the host of selections, or of their failure.
ClientCore::SelectedSlots TellSelected(HostedDevice& device, bandana_client client,
                                       std::uint64_t tag) {
  return [&device, client, tag](absl::StatusOr<std::vector<Selection>> selections) {
    bandana_result result =
        HostedDevice::ResultOf(tag, BANDANA_SELECTED, client, selections.status());
    const SelectionStructs structs(selections.ok() ? std::span<const Selection>(*selections)
                                                   : std::span<const Selection>());
    result.selections = structs.all().data();
    result.selections_count = structs.all().size();
    device.Tell(result);
  };
}

ClientCore::Selected TellOne(const ClientCore::SelectedSlots& slots) {
  return [slots](absl::StatusOr<Selection> selection) {
    if (!selection.ok()) return slots(selection.status());
    std::vector<Selection> selections;
    selections.push_back(*std::move(selection));
    slots(std::move(selections));
  };
}

absl::Status Select(HostedDevice& device, bandana_client client, const bandana_request* request,
                    std::uint64_t tag) {
  BANDANA_RETURN_IF_ERROR(CheckStruct("request", request));
  if (request->by < BANDANA_SELECT || request->by > BANDANA_SELECT_POINT) {
    return InvalidArgument("request.by must be in [0, ", BANDANA_SELECT_POINT, "], got ",
                           request->by);
  }
  BANDANA_ASSIGN_OR_RETURN(const std::string_view user, BytesOf("request.user", &request->user));
  ArmsOf arms;
  if (request->by != BANDANA_SELECT_POINT) BANDANA_RETURN_IF_ERROR(arms.Read(request->arms));
  const Ranks ranks(request->top_k, request->shown);
  const ClientCore::SelectedSlots slots = TellSelected(device, client, tag);
  const ClientCore::Selected one = TellOne(slots);
  return device.With(client, [&](ClientCore& core) {
    switch (request->by) {
      case BANDANA_SELECT:
        return core.Select(user, arms.arms(), ranks, one);
      case BANDANA_SELECT_SLOTS:
        return core.SelectSlots(user, arms.arms(), request->slots, slots);
      case BANDANA_SELECT_DEFERRED:
        return core.SelectDeferred(user, arms.arms(), ranks, one);
      case BANDANA_SELECT_ON_DEVICE:
        return core.SelectOnDevice(user, arms.arms(), ranks, one);
      default:
        return core.SelectPoint(user, one);
    }
  });
}

absl::Status Adopt(HostedDevice& device, bandana_client client, const bandana_bytes* user,
                   const bandana_backend_answer* answer, std::uint64_t tag) {
  BANDANA_ASSIGN_OR_RETURN(const std::string_view name, BytesOf("user", user));
  BANDANA_ASSIGN_OR_RETURN(BackendAnswer read, AnswerOf(answer));
  const ClientCore::SelectedSlots slots = TellSelected(device, client, tag);
  return device.With(client,
                     [&](ClientCore& core) { core.Adopt(name, std::move(read), TellOne(slots)); });
}

absl::Status Report(HostedDevice& device, bandana_client client, const bandana_report_of* report,
                    std::uint64_t tag) {
  BANDANA_RETURN_IF_ERROR(CheckStruct("report", report));
  BANDANA_ASSIGN_OR_RETURN(const std::string_view handle,
                           BytesOf("report.handle", &report->handle));
  Selection selection;
  selection.handle = std::string(handle);
  const auto reward =
      std::isnan(report->reward) ? std::nullopt : std::optional<double>(report->reward);
  const auto shown = report->has_shown != 0 ? std::optional<int>(report->shown) : std::nullopt;
  HostedDevice* const host = &device;
  return device.With(client, [&](ClientCore& core) {
    core.Report(
        selection, reward, shown,
        [host, client, tag](const absl::Status& status) {
          host->Tell(HostedDevice::ResultOf(tag, BANDANA_QUEUED, client, status));
        },
        [host, client, tag](Delivery delivery) {
          bandana_result result =
              HostedDevice::ResultOf(tag, BANDANA_DELIVERED, client, absl::OkStatus());
          result.value = static_cast<std::int32_t>(delivery);
          host->Tell(result);
        });
  });
}

// Names are literals, so they end with a zero.
struct ColumnTexts {
  static constexpr int kColumnsMax = 16;
  const char* names[kColumnsMax];
  std::int32_t kinds[kColumnsMax];
};

const ColumnTexts& TextsOf(std::int32_t table) {
  static const auto all = [] {
    std::array<ColumnTexts, device::kTables> texts = {};
    for (int i = 0; i < device::kTables; ++i) {
      int columns = 0;
      for (const device::Column& column : device::FormOf(static_cast<device::Table>(i)).columns) {
        texts[i].names[columns] = column.name.data();
        texts[i].kinds[columns++] = static_cast<std::int32_t>(column.kind);
      }
    }
    return texts;
  }();
  return all[table];
}

absl::Status TableForm(std::int32_t number, bandana_table* out) {
  BANDANA_RETURN_IF_ERROR(CheckStruct("out", out));
  BANDANA_ASSIGN_OR_RETURN(const device::Table table, TableOf(number));
  const device::TableForm& form = device::FormOf(table);
  const ColumnTexts& texts = TextsOf(number);
  const bool is_store = table == device::Table::kStore;
  *out = {sizeof *out,
          form.name.data(),
          texts.names,
          texts.kinds,
          static_cast<std::int32_t>(form.columns.size()),
          form.keys,
          is_store ? kKeyCheckColumn : form.sealed,
          form.empty_in_clear || is_store ? 1 : 0,
          form.digested.empty() ? 0 : 1};
  return absl::OkStatus();
}

absl::Status SealName(std::int32_t number, const bandana_cell* cells, std::size_t count, void* out,
                      std::size_t* size) {
  BANDANA_ASSIGN_OR_RETURN(const device::Table table, TableOf(number));
  BANDANA_ASSIGN_OR_RETURN(const device::Record record, RecordOf(table, cells, count));
  if (size == nullptr) return InvalidArgument("size must not be null");
  const std::string name = table == device::Table::kStore ? std::string(device::kKeyCheck)
                                                          : device::SealNameOf(table, record);
  const std::size_t room = std::exchange(*size, name.size());
  if (room < name.size()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("size must be at least ", name.size(), ", got ", room));
  }
  if (out == nullptr) return InvalidArgument("out must not be null");
  std::memcpy(out, name.data(), name.size());
  return absl::OkStatus();
}

absl::Status RowDigest(std::int32_t number, const bandana_cell* cells, std::size_t count,
                       std::uint8_t* out) {
  BANDANA_ASSIGN_OR_RETURN(const device::Table table, TableOf(number));
  BANDANA_ASSIGN_OR_RETURN(const device::Record record, RecordOf(table, cells, count));
  if (out == nullptr) return InvalidArgument("out must not be null");
  const std::string digest = device::RowDigestOf(table, record);
  // Bytes, and no text. NOLINTNEXTLINE(bugprone-not-null-terminated-result)
  std::memcpy(out, digest.data(), digest.size());
  return absl::OkStatus();
}

}  // namespace
}  // namespace bandana::abi

using namespace bandana;       // NOLINT(google-build-using-namespace)
using namespace bandana::abi;  // NOLINT(google-build-using-namespace)

const char* bandana_version(void) { return kVersion; }
const char* bandana_error(void) { return LastError(); }

std::int32_t bandana_table_form(std::int32_t table, bandana_table* out) {
  return Returned(TableForm(table, out));
}

std::int32_t bandana_seal_name(std::int32_t table, const bandana_cell* cells, std::size_t count,
                               void* out, std::size_t* size) {
  return Returned(SealName(table, cells, count, out, size));
}

std::int32_t bandana_row_digest(std::int32_t table, const bandana_cell* cells, std::size_t count,
                                std::uint8_t out[8]) {
  return Returned(RowDigest(table, cells, count, out));
}

std::int32_t bandana_device_new(const bandana_hooks* hooks, bandana_device* out) {
  if (out == nullptr) return Returned(InvalidArgument("out must not be null"));
  *out = 0;
  if (const absl::Status status = CheckHooks(hooks); !status.ok()) return Returned(status);
  *out = AddDevice(std::make_shared<HostedDevice>(*hooks));
  return *out != 0 ? 0 : Returned(absl::ResourceExhaustedError("no more devices in this process"));
}

std::int32_t bandana_device_free(bandana_device device) {
  return On(device, [device](HostedDevice& host) {
    host.Free();
    RemoveDevice(device);
    return absl::OkStatus();
  });
}

std::int32_t bandana_load(bandana_device device, std::int32_t table, const bandana_cell* cells,
                          std::size_t count) {
  return On(device, [&](HostedDevice& host) -> absl::Status {
    BANDANA_ASSIGN_OR_RETURN(const device::Table which, TableOf(table));
    BANDANA_ASSIGN_OR_RETURN(device::Record record, RecordOf(which, cells, count));
    return host.Load(which, std::move(record));
  });
}

std::int32_t bandana_start(bandana_device device, const bandana_start_of* start,
                           std::uint64_t tag) {
  return On(device, [&](HostedDevice& host) -> absl::Status {
    BANDANA_RETURN_IF_ERROR(CheckStruct("start", start));
    std::optional<device::StoreMark> seen;
    if (start->seen != nullptr) {
      BANDANA_ASSIGN_OR_RETURN(seen, MarkOf(start->seen));
    }
    return host.Start(seen, {.durable = start->durable != 0, .taken_over = start->taken_over != 0},
                      tag);
  });
}

void bandana_options_init(bandana_options* options) {
  if (options != nullptr) *options = DefaultOptions();
}

std::int32_t bandana_connect(bandana_device device, const bandana_options* options,
                             std::uint64_t tag) {
  return On(device, [&](HostedDevice& host) -> absl::Status {
    BANDANA_ASSIGN_OR_RETURN(const ClientOptions read, OptionsOf(options));
    return host.Connect(read, tag);
  });
}

std::int32_t bandana_close(bandana_device device, bandana_client client) {
  return On(device, [client](HostedDevice& host) { return host.Close(client); });
}

std::int32_t bandana_select(bandana_device device, bandana_client client,
                            const bandana_request* request, std::uint64_t tag) {
  return On(device, [&](HostedDevice& host) { return Select(host, client, request, tag); });
}

std::int32_t bandana_activate(bandana_device device, bandana_client client,
                              const bandana_bytes* handle, std::uint64_t tag) {
  return On(device, [&](HostedDevice& host) -> absl::Status {
    BANDANA_ASSIGN_OR_RETURN(const std::string_view bytes, BytesOf("handle", handle));
    Selection selection;
    selection.handle = std::string(bytes);
    return host.With(client, [&](device::ClientCore& core) {
      core.Activate(selection, [&host, client, tag](const absl::Status& status) {
        host.Tell(HostedDevice::ResultOf(tag, BANDANA_ACTIVATED, client, status));
      });
    });
  });
}

std::int32_t bandana_adopt(bandana_device device, bandana_client client, const bandana_bytes* user,
                           const bandana_backend_answer* answer, std::uint64_t tag) {
  return On(device, [&](HostedDevice& host) { return Adopt(host, client, user, answer, tag); });
}

std::int32_t bandana_report(bandana_device device, bandana_client client,
                            const bandana_report_of* report, std::uint64_t tag) {
  return On(device, [&](HostedDevice& host) { return Report(host, client, report, tag); });
}

std::int32_t bandana_refresh_posterior(bandana_device device, bandana_client client,
                                       const bandana_bytes* user, std::uint64_t tag) {
  return On(device, [&](HostedDevice& host) -> absl::Status {
    BANDANA_ASSIGN_OR_RETURN(const std::string_view name, BytesOf("user", user));
    return host.With(client, [&](device::ClientCore& core) {
      core.RefreshPosterior(name, [&host, client, tag](absl::StatusOr<bool> changed) {
        bandana_result result =
            HostedDevice::ResultOf(tag, BANDANA_REFRESHED, client, changed.status());
        result.value = changed.value_or(false) ? 1 : 0;
        host.Tell(result);
      });
    });
  });
}

std::int32_t bandana_begin(bandana_device device, bandana_client client) {
  return On(device, [client](HostedDevice& host) {
    return host.With(client, [](device::ClientCore& core) { core.Begin(); });
  });
}

std::int32_t bandana_flush(bandana_device device, bandana_client client, std::uint64_t tag) {
  return On(device, [&](HostedDevice& host) {
    return host.With(client, [&](device::ClientCore& core) {
      core.Flush([&host, client, tag] {
        host.Tell(HostedDevice::ResultOf(tag, BANDANA_FLUSHED, client, absl::OkStatus()));
      });
    });
  });
}

std::int32_t bandana_read_spent(bandana_device device, bandana_client client,
                                const bandana_bytes* user, std::uint64_t tag) {
  return On(device, [&](HostedDevice& host) -> absl::Status {
    BANDANA_ASSIGN_OR_RETURN(const std::string_view name, BytesOf("user", user));
    return host.With(client, [&](device::ClientCore& core) {
      core.Spent(name, [&host, client, tag](absl::StatusOr<PrivacySpent> spent) {
        bandana_result result =
            HostedDevice::ResultOf(tag, BANDANA_READ_SPENT, client, spent.status());
        bandana_spent read = {};
        if (spent.ok()) {
          read = ToStruct(*spent);
          result.spent = &read;
        }
        host.Tell(result);
      });
    });
  });
}

std::int32_t bandana_read_ledger(bandana_device device, bandana_client client,
                                 const bandana_bytes* user, double delta, std::uint64_t tag) {
  return On(device, [&](HostedDevice& host) -> absl::Status {
    BANDANA_ASSIGN_OR_RETURN(const std::string_view name, BytesOf("user", user));
    return host.With(client, [&](device::ClientCore& core) {
      core.Readings(name, delta, [&host, client, tag](absl::StatusOr<LedgerReadings> readings) {
        bandana_result result =
            HostedDevice::ResultOf(tag, BANDANA_READ_LEDGER, client, readings.status());
        bandana_readings read = {};
        if (readings.ok()) {
          read = ToStruct(*readings);
          result.readings = &read;
        }
        host.Tell(result);
      });
    });
  });
}

std::int32_t bandana_read_streams(bandana_device device, bandana_client client,
                                  const bandana_bytes* user, std::uint64_t tag) {
  return On(device, [&](HostedDevice& host) -> absl::Status {
    BANDANA_ASSIGN_OR_RETURN(const std::string_view name, BytesOf("user", user));
    return host.With(client, [&](device::ClientCore& core) {
      core.Streams(name, [&host, client, tag](absl::StatusOr<std::vector<StreamInfo>> streams) {
        bandana_result result =
            HostedDevice::ResultOf(tag, BANDANA_READ_STREAMS, client, streams.status());
        std::vector<bandana_stream> read;
        if (streams.ok()) {
          for (const StreamInfo& stream : *streams) read.push_back(ToStruct(stream));
        }
        result.streams = read.data();
        result.streams_count = read.size();
        host.Tell(result);
      });
    });
  });
}

std::int32_t bandana_get_stats(bandana_device device, bandana_client client, bandana_stats* out) {
  return On(device, [&](HostedDevice& host) -> absl::Status {
    BANDANA_RETURN_IF_ERROR(CheckStruct("out", out));
    BANDANA_ASSIGN_OR_RETURN(const device::ClientCore* const core, host.Find(client));
    *out = ToStruct(core->Stats());
    return absl::OkStatus();
  });
}

std::int32_t bandana_get_model(bandana_device device, bandana_client client,
                               bandana_model_info* out) {
  return On(device, [&](HostedDevice& host) -> absl::Status {
    BANDANA_RETURN_IF_ERROR(CheckStruct("out", out));
    BANDANA_ASSIGN_OR_RETURN(const device::ClientCore* const core, host.Find(client));
    *out = ToStruct(core->model());
    return absl::OkStatus();
  });
}

std::int32_t bandana_wake(bandana_device device) {
  return On(device, [](HostedDevice& host) { return host.Wake(); });
}

std::int32_t bandana_answer(bandana_device device, std::uint64_t call,
                            const bandana_answer_of_call* answer) {
  return On(device, [&](HostedDevice& host) -> absl::Status {
    BANDANA_RETURN_IF_ERROR(CheckStruct("answer", answer));
    BANDANA_ASSIGN_OR_RETURN(const Headers headers,
                             HeadersOf(answer->headers, answer->headers_count));
    BANDANA_ASSIGN_OR_RETURN(const std::string_view body, BytesOf("answer.body", &answer->body));
    return host.Answer(call, ReadWebAnswer(answer->http_status, headers, body));
  });
}

std::int32_t bandana_committed(bandana_device device, std::uint64_t commit, std::int32_t code) {
  return On(device, [&](HostedDevice& host) {
    return host.Committed(
        commit, code == 0 ? absl::OkStatus() : Unavailable("device store: the commit failed"));
  });
}
