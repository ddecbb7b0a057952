#include "dataplane/server/digest_queue.h"

#include <map>

#include "dataplane/server/codec.h"
#include "dataplane/server/text.h"

namespace l3dml::server {

absl::Status DigestQueue::push(const tna::Digest& digest) {
  std::lock_guard lock(mutex_);
  const LearnFilterInfo* const filter = program_.learn_filter(digest.filter);
  if (filter == nullptr) {
    ++counters_.refused;
    return absl::NotFoundError(concat("the program has no learn filter ", digest.filter));
  }
  bool fits = digest.fields.size() == filter->fields.size();
  for (size_t i = 0; fits && i < digest.fields.size(); ++i)
    fits = digest.fields[i].size() == filter->fields[i].byte_count();
  if (!fits) {
    ++counters_.refused;
    return absl::InvalidArgumentError(concat(digest.filter, ": a record has ", filter->fields.size(),
                                             " fields of the widths that bf-rt.json gives"));
  }
  if (waiting_.size() >= kCapacity) {
    ++counters_.overflow;
    return absl::ResourceExhaustedError(concat(digest.filter, ": ", kCapacity, " records wait already"));
  }
  bfrt_proto::TableData record;
  for (size_t i = 0; i < digest.fields.size(); ++i)
    encode_field(filter->fields[i], {filter->fields[i].id, digest.fields[i]}, record.add_fields());
  waiting_.emplace_back(filter, std::move(record));
  return absl::OkStatus();
}

std::vector<bfrt_proto::StreamMessageResponse> DigestQueue::take() {
  std::lock_guard lock(mutex_);
  std::vector<bfrt_proto::StreamMessageResponse> lists;
  std::map<const LearnFilterInfo*, size_t> open;  // the list of each filter that has room
  for (auto& [filter, record] : waiting_) {
    const auto found = open.find(filter);
    if (found == open.end() || lists[found->second].digest().data_size() >= kRecordsPerList) {
      open[filter] = lists.size();
      bfrt_proto::DigestList& list = *lists.emplace_back().mutable_digest();
      list.set_digest_id(filter->id);
      list.mutable_target()->set_device_id(device_);
      list.mutable_target()->set_pipe_id(0xffff);
      list.mutable_target()->set_direction(0xff);
      list.mutable_target()->set_prsr_id(0xff);
    }
    *lists[open[filter]].mutable_digest()->add_data() = std::move(record);
  }
  counters_.records += waiting_.size();
  waiting_.clear();
  return lists;
}

DigestQueue::Counters DigestQueue::counters() const {
  std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace l3dml::server
