#include "dataplane/blocks/admission.h"

#include "dataplane/base/limits.h"
#include "dataplane/wire/address.h"

namespace l3dml::blocks {
namespace {

using base::DropReason;
using tna::to_uint;

// Layout of the packed key; key() below builds the same from a packet.
const std::vector<tna::KeySlice> kLayout = {
    {0, 24, 4},   // hdr.l3dml.type
    {0, 16, 8},   // hdr.l3dml.flags
    {0, 48, 16},  // hdr.l3dml.job
    {0, 40, 8},   // hdr.l3dml.epoch
    {0, 32, 8},   // hdr.l3dml.child
    {0, 0, 16},   // src_locator
    {1, 32, 32},  // src_host
    {1, 0, 32},   // hdr.l3dml.slot
    {2, 0, 9},    // ig_intr_md.ingress_port
};

absl::Status read_admit(const tna::Entry& entry, Admit* admit) {
  if (entry.action == "Ingress.admission.reject" && entry.params.size() == 1) {
    const uint64_t reason = to_uint(entry.params[0]);
    if (reason == 0 || reason >= base::kDropReasons)
      return absl::InvalidArgumentError(absl::StrCat("reject: no drop reason has number ", reason));
    admit->reject = static_cast<DropReason>(reason);
    return absl::OkStatus();
  }
  if (entry.action != "Ingress.admission.admit" || entry.params.size() != 9)
    return absl::InvalidArgumentError(absl::StrCat("admission has no action ", entry.action));
  admit->admitted = true;
  admit->mask = static_cast<uint32_t>(to_uint(entry.params[0]));
  admit->children = static_cast<uint16_t>(to_uint(entry.params[1]));
  admit->role = static_cast<Role>(to_uint(entry.params[2]));
  admit->neighbor = static_cast<uint16_t>(to_uint(entry.params[3]));
  admit->neighbor_port = static_cast<uint16_t>(to_uint(entry.params[4]));
  admit->parent = static_cast<uint16_t>(to_uint(entry.params[5]));
  admit->parent_port = static_cast<uint16_t>(to_uint(entry.params[6]));
  admit->mgid = static_cast<uint16_t>(to_uint(entry.params[7]));
  admit->job_index = static_cast<uint16_t>(to_uint(entry.params[8]));
  if (admit->role != Role::root && admit->role != Role::inner)
    return absl::InvalidArgumentError("admit: role is 1 (root) or 2 (inner)");
  if (admit->children == 0 || admit->children > base::kMaxChildren)
    return absl::InvalidArgumentError(
        absl::StrCat("admit: ", admit->children, " children, 1 to 31 are possible"));
  if ((admit->mask & kDoneBit) && admit->mask != kDoneBit)
    return absl::InvalidArgumentError(
        "admit: bit 31 of mask is not a child's; it stands alone for the parent");
  return absl::OkStatus();
}

}  // namespace

Admission::Admission()
    : admission_(
          kLayout,
          {{"Ingress.admission.admit", {32, 16, 8, 16, 9, 16, 9, 16, 16}}, {"Ingress.admission.reject", {8}}},
          read_admit) {}

Admission::Key Admission::key(const wire::Head& head, uint16_t ingress_port) {
  const wire::L3dmlHeader& h = head.l3dml;
  const wire::Ipv6Address& src = head.ipv6.src_addr;
  Key key;
  key.words[0] = uint64_t{h.job.load()} << 48 | uint64_t{h.epoch} << 40 | uint64_t{h.child} << 32 |
                 uint64_t{static_cast<uint8_t>(h.type())} << 24 | uint64_t{h.flags} << 16 |
                 wire::address_word(src, 3);
  key.words[1] =
      uint64_t{wire::address_word(src, 6)} << 48 | uint64_t{wire::address_word(src, 7)} << 32 | h.slot.load();
  key.words[2] = ingress_port;
  return key;
}

bool Admission::holds_for_slots(const Row& row, uint32_t base, uint32_t mask) const {
  const auto row_mask = static_cast<uint32_t>(row.mask.words[1]);
  return row.action.admitted && row.priority == admission_.table().best_priority() &&
         (row_mask & mask) == 0 && (base & row_mask) == static_cast<uint32_t>(row.key.words[1]);
}

const Admission::Row* Admission::apply(Context& ctx, unsigned pipe) const {
  const Row* row = admission_.table().lookup(key(*ctx.head, ctx.packet->port));
  const Admit& admit = row ? row->action : admission_.default_action();
  if (row) row->count(pipe, 1, ctx.packet->frame_size());
  if (!admit.admitted) {
    ctx.reason = admit.reject;
  } else {
    ctx.admit = &admit;
  }
  if (ctx.trace) [[unlikely]]
    ctx.trace->line(
        ctx.id, "Ingress.admission.admission",
        ctx.reason != DropReason::none
            ? absl::StrCat(row ? "hit" : "miss",
                           ", reject: ", std::string(base::drop_reason_name(ctx.reason)))
            : absl::StrCat("hit, child mask ", absl::Hex(admit.mask), ", ", admit.children, " children, ",
                           admit.role == Role::root ? "root" : "inner", ", neighbor ", admit.neighbor));
  return row;
}

}  // namespace l3dml::blocks
