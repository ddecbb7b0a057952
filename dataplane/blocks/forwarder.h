// Where a packet goes that is not (or not here) a gradient: p4/forwarder.p4. Host routes win over the longest
// prefix; action aggregate() says that the destination is an aggregation address of a job that lives here,
// local() that the switch's own processor shall see it (gateway addresses; pipeline/local_stack answers).
#pragma once

#include <map>

#include "dataplane/tna/table_twin.h"
#include "dataplane/wire/header.h"

namespace l3dml::blocks {

struct Route {
  enum class Kind : uint8_t { none, forward, aggregate, local } kind = Kind::none;
  uint16_t port = 0;
  wire::MacAddress dmac{};  // all zero: the destination itself is the next hop, resolve it
};

class Forwarder {
 public:
  Forwarder();

  using Twin6 = tna::MatchTableTwin<2, Route>;
  using Twin4 = tna::MatchTableTwin<1, Route>;
  using Row6 = Twin6::Table::Row;

  // Counted for `pipe`. The entry that decided goes to *row: null if it was the default.
  const Route& lookup6(const wire::Ipv6Address& dst, unsigned pipe, const Row6** row) const;
  const Route& lookup4(uint32_t dst, unsigned pipe) const;

  // Calls job(number) for the job in the address of every host route, whether it is an aggregation address or
  // not. False: some prefix tells apart what lies within the aggregation addresses of one site.
  template <typename Function>
  bool for_each_job(Function job) const {
    bool all = true;
    for (const Twin6* twin : {&local6_, &host6_})
      twin->table().for_each([&](const Row6& row) { job(static_cast<uint16_t>(row.key.words[1] >> 32)); });
    prefix6_.table().for_each([&](const Row6& row) { all &= row.mask.words[1] << 8 == 0; });
    return all;
  }

  // By the last part of the BfRuntime name (local6, host6, prefix6, local4, host4, prefix4); null if unknown.
  tna::TableTwin* table(std::string_view name);
  std::map<std::string, tna::TableShape> shapes() const;  // by that last part
  // The switch's own addresses: entries of local6 and local4, in the order of their handles.
  const wire::Ipv6Address* own_address6() const { return own6_.empty() ? nullptr : &own6_.front().second; }
  const uint32_t* own_address4() const { return own4_.empty() ? nullptr : &own4_.front().second; }

 private:
  void collect_own();

  Twin6 local6_, host6_, prefix6_;
  Twin4 local4_, host4_, prefix4_;
  std::vector<std::pair<tna::Handle, wire::Ipv6Address>> own6_;
  std::vector<std::pair<tna::Handle, uint32_t>> own4_;
};

}  // namespace l3dml::blocks
