#include "dataplane/blocks/forwarder.h"

#include <algorithm>
#include <cstring>

#include "dataplane/base/limits.h"

namespace l3dml::blocks {
namespace {

const std::vector<tna::KeySlice> kAddress6 = {{0, 0, 128}};
const std::vector<tna::KeySlice> kAddress4 = {{0, 0, 32}};

const std::vector<unsigned> kForward = {9, 48}, kNothing;
const std::map<std::string, std::vector<unsigned>> kLocal = {{"Ingress.forwarder.local", kNothing}};
const std::map<std::string, std::vector<unsigned>> kHost6 = {{"Ingress.forwarder.forward", kForward},
                                                             {"Ingress.forwarder.aggregate", kNothing}};
const std::map<std::string, std::vector<unsigned>> kHost4 = {{"Ingress.forwarder.forward", kForward}};
const std::map<std::string, std::vector<unsigned>> kPrefix = {{"Ingress.forwarder.forward", kForward},
                                                              {"Ingress.forwarder.local", kNothing},
                                                              {"Ingress.forwarder.drop", kNothing}};

absl::Status read_route(const tna::Entry& entry, Route* route) {
  const std::string_view name = std::string_view(entry.action).substr(entry.action.rfind('.') + 1);
  if (name == "forward" && entry.params.size() == 2) {
    route->kind = Route::Kind::forward;
    route->port = static_cast<uint16_t>(tna::to_uint(entry.params[0]));
    if (route->port >= base::kNoPort)
      return absl::InvalidArgumentError(absl::StrCat("forward: no device port ", route->port));
    std::memcpy(route->dmac.data(), entry.params[1].data(), 6);
  } else if (name == "aggregate") {
    route->kind = Route::Kind::aggregate;
  } else if (name == "local") {
    route->kind = Route::Kind::local;
  } else if (!name.empty() && name != "NoAction" && name != "drop") {
    return absl::InvalidArgumentError(absl::StrCat("forwarder has no action ", entry.action));
  }
  return absl::OkStatus();
}

// The frame's bytes are not counted: no route needs them.
template <typename Twin>
const typename Twin::Table::Row* find(const Twin& twin, const typename Twin::Table::Key& key, unsigned pipe) {
  const auto* row = twin.table().lookup(key);
  if (row) row->count(pipe, 1, 0);
  return row;
}

}  // namespace

Forwarder::Forwarder()
    : local6_(kAddress6, kLocal, read_route, [this] { collect_own(); }),
      host6_(kAddress6, kHost6, read_route),
      prefix6_(kAddress6, kPrefix, read_route),
      local4_(kAddress4, kLocal, read_route, [this] { collect_own(); }),
      host4_(kAddress4, kHost4, read_route),
      prefix4_(kAddress4, kPrefix, read_route) {}

const Route& Forwarder::lookup6(const wire::Ipv6Address& dst, unsigned pipe, const Row6** row) const {
  Twin6::Table::Key key;
  base::be64_t half;
  std::memcpy(&half, dst.data(), 8);
  key.words[0] = half.load();
  std::memcpy(&half, dst.data() + 8, 8);
  key.words[1] = half.load();
  for (const Twin6* twin : {&host6_, &local6_, &prefix6_})
    if ((*row = find(*twin, key, pipe))) return (*row)->action;
  return prefix6_.default_action();
}

const Route& Forwarder::lookup4(uint32_t dst, unsigned pipe) const {
  Twin4::Table::Key key;
  key.words[0] = dst;
  for (const Twin4* twin : {&local4_, &host4_, &prefix4_})
    if (const auto* row = find(*twin, key, pipe)) return row->action;
  return prefix4_.default_action();
}

tna::TableTwin* Forwarder::table(std::string_view name) {
  if (name == "local6") return &local6_;
  if (name == "host6") return &host6_;
  if (name == "prefix6") return &prefix6_;
  if (name == "local4") return &local4_;
  if (name == "host4") return &host4_;
  if (name == "prefix4") return &prefix4_;
  return nullptr;
}

std::map<std::string, tna::TableShape> Forwarder::shapes() const {
  return {{"local6", local6_.shape()}, {"host6", host6_.shape()}, {"prefix6", prefix6_.shape()},
          {"local4", local4_.shape()}, {"host4", host4_.shape()}, {"prefix4", prefix4_.shape()}};
}

void Forwarder::collect_own() {
  own6_.clear(), own4_.clear();
  local6_.table().for_each([this](const auto& row) {
    wire::Ipv6Address address;
    for (int i = 0; i < 16; ++i)
      address[i] = static_cast<uint8_t>(row.key.words[i / 8] >> (56 - 8 * (i % 8)));
    own6_.emplace_back(row.handle, address);
  });
  local4_.table().for_each(
      [this](const auto& row) { own4_.emplace_back(row.handle, static_cast<uint32_t>(row.key.words[0])); });
  std::sort(own6_.begin(), own6_.end());
  std::sort(own4_.begin(), own4_.end());
}

}  // namespace l3dml::blocks
