// Every table of two programs, each by the requests its type supports, over a socket: the compiler's output
// of a real program with 93 tables, and a made-up program that has every kind of table a compiler can emit.
#include <map>

#include "dataplane/server/testing/served.h"

namespace l3dml::server::testing {
namespace {

using bfrt_proto::Update;
using grpc::StatusCode;

class EveryTable : public Served {
 protected:
  // Key field values that differ by `n`.
  std::vector<KeyPart> key_of(const TableInfo& info, uint64_t n) {
    std::vector<KeyPart> parts;
    for (const FieldInfo& field : info.key) {
      const uint64_t all = field.width >= 64 ? UINT64_MAX : (uint64_t{1} << field.width) - 1;
      KeyPart part{field.name, n & all, 0, ""};
      if (field.type == FieldType::text) part.text = server_.driver(0)->program().tables()[0].name;
      if (field.match == tna::MatchKind::ternary) part.mask = all;
      if (field.match == tna::MatchKind::range) part.mask = all;
      if (field.match == tna::MatchKind::lpm) part.mask = field.width;
      parts.push_back(part);
    }
    return parts;
  }
  static std::vector<DataPart> data_of(const std::vector<FieldInfo>& fields, uint64_t n) {
    std::vector<DataPart> parts;
    int group = -1;
    for (const FieldInfo& field : fields) {
      if (field.read_only || field.type == FieldType::container) continue;
      if (field.choice_group >= 0 && field.choice_group == group) continue;  // one of a choice
      group = field.choice_group;
      Datum value;
      if (field.repeated && field.type == FieldType::boolean)
        value = std::vector<bool>{true};
      else if (field.repeated)
        value = std::vector<uint32_t>{1};
      else if (field.type == FieldType::boolean)
        value = true;
      else if (field.type == FieldType::real)
        value = 0.25f;
      else if (field.type == FieldType::text)
        value = field.choices.empty() ? std::string("x") : field.choices.back();
      else
        value = n & (field.width >= 64 ? UINT64_MAX : (uint64_t{1} << field.width) - 1);
      parts.push_back({field.name, value});
    }
    return parts;
  }
  bfrt_proto::TableEntry entry_of(const TableInfo& info, uint64_t n) {
    for (const ActionInfo& action : info.actions) {
      if (!action.in_entries) continue;
      std::vector<DataPart> data = data_of(action.data, n);
      for (DataPart& part : data_of(info.data, n)) data.push_back(std::move(part));
      return client_->entry(info.name, key_of(info, n), action.name, data);
    }
    return client_->entry(info.name, key_of(info, n), "", data_of(info.data, n));
  }
  bfrt_proto::TableEntry default_of(const TableInfo& info) {
    bfrt_proto::TableEntry entry = client_->entry(info.name);
    entry.set_is_default_entry(true);
    return entry;
  }

  void entries(const TableInfo& info) {
    Client& c = *client_;
    SCOPED_TRACE(info.name);
    const bool profile = info.kind == TableKind::action || info.kind == TableKind::selector;
    if (info.is_const) {
      EXPECT_EQ(c.insert(entry_of(info, 1)).code(), StatusCode::INVALID_ARGUMENT);
      EXPECT_EQ(c.remove(c.entry(info.name, key_of(info, 1))).code(), StatusCode::INVALID_ARGUMENT);
      EXPECT_TRUE(c.remove(c.entry(info.name)).ok());
      EXPECT_TRUE(c.read_all(info.name).ok());
      EXPECT_EQ(c.usage(info.name), 0u);
      return;
    }
    const Result added = c.insert(entry_of(info, 1));
    ASSERT_TRUE(added.ok()) << (added.errors.empty() ? added.status.error_message()
                                                     : added.errors[0].message());
    EXPECT_EQ(c.insert(entry_of(info, 1)).code(), StatusCode::ALREADY_EXISTS);
    const Result read = c.read(c.entry(info.name, key_of(info, 1)));
    ASSERT_EQ(read.entries.size(), 1u);
    EXPECT_EQ(static_cast<size_t>(read.entries[0].key().fields_size()),
              info.key.size() + (info.has_priority ? 1 : 0));
    // What was written is read back, field by field.
    const bfrt_proto::TableEntry written = entry_of(info, 1);
    for (const auto& sent : written.data().fields()) {
      bool found = false;
      for (const auto& got : read.entries[0].data().fields()) {
        const FieldInfo* const field = info.data_field(read.entries[0].data().action_id(), got.field_id());
        const bool ticks = field != nullptr && field->role == Role::ttl;
        found = found || got.SerializeAsString() == sent.SerializeAsString() || ticks;
      }
      EXPECT_TRUE(found) << sent.ShortDebugString();
    }
    EXPECT_EQ(c.modify(entry_of(info, 1)).ok(), info.kind != TableKind::value_set);
    EXPECT_EQ(c.usage(info.name), 1u);
    EXPECT_EQ(c.read(c.entry(info.name, key_of(info, 0))).code(), StatusCode::NOT_FOUND);
    if (profile) return;  // others refer to it
    EXPECT_TRUE(c.remove(c.entry(info.name, key_of(info, 1))).ok());
    EXPECT_EQ(c.usage(info.name), 0u);
    EXPECT_TRUE(c.insert(entry_of(info, 1)).ok());
    EXPECT_TRUE(c.remove(c.entry(info.name)).ok());
    EXPECT_EQ(c.usage(info.name), 0u);
    if (info.kind == TableKind::match) {
      EXPECT_TRUE(c.remove(default_of(info)).ok());
      EXPECT_TRUE(c.read(default_of(info)).ok());
    }
    if (info.has_attribute("EntryScope")) {
      bfrt_proto::TableAttribute scope;
      scope.mutable_entry_scope()->mutable_pipe_scope()->set_predef(bfrt_proto::Mode::SINGLE);
      EXPECT_TRUE(c.write({c.attribute(info.name, scope)}).ok());
      c.pipe = 1;
      EXPECT_TRUE(c.insert(entry_of(info, 1)).ok());
      c.pipe = 0;
      EXPECT_EQ(c.usage(info.name), 0u);
      c.pipe = kAllPipes;
      EXPECT_EQ(c.usage(info.name), 1u);
      EXPECT_TRUE(c.remove(c.entry(info.name)).ok());
    }
  }

  void cells(const TableInfo& info) {
    Client& c = *client_;
    SCOPED_TRACE(info.name);
    const uint64_t last = info.size - 1;
    ASSERT_TRUE(c.insert(c.entry(info.name, key_of(info, last), "", data_of(info.data, 1))).ok());
    const Result read = c.read(c.entry(info.name, key_of(info, last)));
    ASSERT_EQ(read.entries.size(), 1u);
    for (const FieldInfo& field : info.data) {
      if (field.type != FieldType::bytes && field.type != FieldType::uint) continue;
      EXPECT_EQ(c.number(read.entries[0], field.name), 1u) << field.name;
    }
    EXPECT_EQ(c.read(c.entry(info.name, key_of(info, info.size))).code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(c.remove(c.entry(info.name, key_of(info, last))).code(), StatusCode::UNIMPLEMENTED);
    EXPECT_EQ(c.usage(info.name), UINT32_MAX);
    EXPECT_EQ(c.read_all(info.name).entries.size(), info.size);
    for (const std::string& operation : info.operations)
      EXPECT_TRUE(c.write({c.operation(info.name, operation)}).ok());
    EXPECT_TRUE(c.remove(c.entry(info.name)).ok());
  }

  void single(const TableInfo& info) {
    Client& c = *client_;
    SCOPED_TRACE(info.name);
    const Result before = c.read(default_of(info));
    ASSERT_EQ(before.entries.size(), 1u);
    bfrt_proto::TableEntry set =
        c.entry(info.name, {}, info.actions.empty() ? "" : info.actions.back().name,
                data_of(info.actions.empty() ? info.data : info.actions.back().data, 1));
    set.set_is_default_entry(true);
    EXPECT_TRUE(c.modify(set).ok());
    EXPECT_TRUE(c.remove(default_of(info)).ok());
    EXPECT_EQ(c.read(default_of(info)).entries.at(0).SerializeAsString(),
              before.entries[0].SerializeAsString());
  }

  void reads(const TableInfo& info) {
    Client& c = *client_;
    SCOPED_TRACE(info.name);
    EXPECT_FALSE(c.insert(c.entry(info.name, key_of(info, 1))).ok());
    const Result read = c.read(c.entry(info.name, key_of(info, 1)));
    if (info.type == "DynHashCompute" || info.type == "SelectorGetMember")
      EXPECT_EQ(read.entries.size(), 1u);
    else
      EXPECT_EQ(read.code(), StatusCode::NOT_FOUND);
  }

  // Members and groups first, since others refer to them. Returns how many tables were exercised.
  size_t exercise() {
    std::vector<const TableInfo*> order;
    for (const TableKind first : {TableKind::action, TableKind::selector}) {
      for (const TableInfo& info : server_.driver(0)->program().tables()) {
        if (info.kind == first) order.push_back(&info);
      }
    }
    for (const TableInfo& info : server_.driver(0)->program().tables()) {
      if (info.kind != TableKind::action && info.kind != TableKind::selector) order.push_back(&info);
    }
    for (const TableInfo* info : order) {
      const bool read_only = info->type == "SnapshotData" || info->type == "SnapshotLiveness" ||
                             info->type == "DynHashCompute" || info->type == "SelectorGetMember";
      if (read_only) {
        reads(*info);
      } else if (info->type == "TblDbgCnt") {
        EXPECT_GT(client_->read_all(info->name).entries.size(), 0u);
        EXPECT_TRUE(client_->modify(entry_of(*info, 1)).ok());
        EXPECT_TRUE(client_->remove(client_->entry(info->name)).ok());
      } else if (info->kind == TableKind::register_array || info->kind == TableKind::counter ||
                 info->kind == TableKind::meter || info->type == "SnapshotTrigger") {
        cells(*info);
      } else if (info->kind == TableKind::single) {
        single(*info);
      } else {
        entries(*info);
      }
    }
    return order.size();
  }

  std::unique_ptr<Client> client_;
};

TEST_F(EveryTable, of_the_93_that_a_compiler_made) {
  serve(sample_json());
  client_ = bound();
  EXPECT_EQ(exercise(), 93u);
}

TEST_F(EveryTable, of_every_kind_there_is) {
  serve(wide_json());
  client_ = bound();
  EXPECT_EQ(exercise(), 35u);
}

// The catalogue's check values: the function of "123456789".
TEST_F(EveryTable, hashes_are_those_of_the_catalogue) {
  serve(wide_json());
  client_ = bound();
  Client& c = *client_;
  auto choose = [&](const std::string& name) {
    bfrt_proto::TableEntry entry = c.entry("hash.algorithm", {}, "pre_defined", {{"algorithm_name", name}});
    entry.set_is_default_entry(true);
    return c.modify(entry);
  };
  auto value = [&] {
    const Result read =
        c.read(c.entry("hash.compute", {{"hdr.ip.src", 0x31323334}, {"hdr.ip.dst", 0x35363738}}));
    return read.entries.empty() ? UINT64_MAX : c.number(read.entries[0], "hash_value");
  };
  ASSERT_TRUE(choose("CRC_32").ok());
  EXPECT_EQ(value(), 0x9ae0daafu);  // of "12345678"
  ASSERT_TRUE(choose("IDENTITY").ok());
  EXPECT_EQ(value(), 0x35363738u);
  ASSERT_TRUE(choose("XOR").ok());
  EXPECT_EQ(value(), 0x31323334u ^ 0x35363738u);
}

}  // namespace
}  // namespace l3dml::server::testing
