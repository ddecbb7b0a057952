#include "dataplane/io/mbuf_pool.h"

#include <algorithm>
#include <new>

#include <rte_errno.h>
#include <rte_mbuf.h>

#include "absl/strings/str_cat.h"
#include "dataplane/base/limits.h"

namespace l3dml::io {
namespace {

constexpr uint16_t kPrivateSize = RTE_ALIGN_CEIL(sizeof(base::Packet), 64);

base::Packet* packet_of(rte_mbuf* mbuf) { return static_cast<base::Packet*>(rte_mbuf_to_priv(mbuf)); }
rte_mbuf* mbuf_of(const base::Packet* packet) { return static_cast<rte_mbuf*>(packet->context); }

uint16_t data_room(const MbufPool::Config& config) {
  return static_cast<uint16_t>(RTE_ALIGN_CEIL(config.max_frame, 64) + RTE_PKTMBUF_HEADROOM);
}

base::Packet* dress(rte_mbuf* mbuf, MbufPool* pool) {
  auto* packet = new (packet_of(mbuf)) base::Packet();
  packet->data = rte_pktmbuf_mtod(mbuf, uint8_t*);
  packet->size = mbuf->data_len;
  packet->buffer = static_cast<uint8_t*>(mbuf->buf_addr);
  packet->capacity = mbuf->buf_len;
  packet->pool = pool;
  packet->context = mbuf;
  return packet;
}

void undress(const base::Packet* packet, rte_mbuf* mbuf) {
  mbuf->data_off = static_cast<uint16_t>(packet->data - packet->buffer);
  mbuf->data_len = static_cast<uint16_t>(packet->size);
  mbuf->pkt_len = packet->size;
}

}  // namespace

uint64_t MbufPool::memory_bytes(const Config& config) {
  const uint64_t element =
      sizeof(rte_mbuf) + kPrivateSize + data_room(config) + 192;  // mempool header, trailer
  return element * (uint64_t{config.count} + 8192);
}

absl::StatusOr<std::unique_ptr<MbufPool>> MbufPool::create(const Config& config) {
  rte_mempool* const mempool = rte_pktmbuf_pool_create(config.name.c_str(), config.count, config.cache,
                                                       kPrivateSize, data_room(config), SOCKET_ID_ANY);
  if (mempool == nullptr)
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for ", config.count, " packet buffers (", memory_bytes(config) >> 20,
                     " MiB): ", rte_strerror(rte_errno), "; lower `buffers` or give EAL more with -m"));
  return std::unique_ptr<MbufPool>(new MbufPool(mempool));
}

MbufPool::~MbufPool() { rte_mempool_free(mempool_); }

base::Packet* MbufPool::alloc() {
  rte_mbuf* const mbuf = rte_pktmbuf_alloc(mempool_);
  return mbuf == nullptr ? nullptr : dress(mbuf, this);
}

void MbufPool::recycle(base::Packet* packet) { rte_pktmbuf_free_seg(mbuf_of(packet)); }

unsigned MbufPool::alloc_bulk(base::Packet** packets, unsigned count) {
  rte_mbuf* mbufs[base::kBurst];
  unsigned done = 0;
  while (done < count) {
    const unsigned step = std::min<unsigned>(count - done, base::kBurst);
    if (rte_pktmbuf_alloc_bulk(mempool_, mbufs, step) != 0) break;  // all or none
    for (unsigned i = 0; i < step; ++i) packets[done++] = dress(mbufs[i], this);
  }
  while (done < count && (packets[done] = alloc()) != nullptr) ++done;
  return done;
}

void MbufPool::recycle_bulk(base::Packet* const* packets, unsigned count) {
  rte_mbuf* mbufs[base::kBurst];
  for (unsigned done = 0; done < count;) {
    const unsigned step = std::min<unsigned>(count - done, base::kBurst);
    for (unsigned i = 0; i < step; ++i) mbufs[i] = mbuf_of(packets[done++]);
    rte_pktmbuf_free_bulk(mbufs, step);
  }
}

base::Packet* MbufPool::adopt(rte_mbuf* mbuf) {
  if (mbuf->nb_segs > 1 && rte_pktmbuf_linearize(mbuf) != 0) {
    rte_pktmbuf_free(mbuf);
    return nullptr;
  }
  return dress(mbuf, this);
}

rte_mbuf* MbufPool::surrender(base::Packet* packet) {
  rte_mbuf* const head = mbuf_of(packet);
  undress(packet, head);
  base::Packet* const tail = packet->tail;
  if (tail == nullptr) return head;
  rte_mbuf* const shared = mbuf_of(tail);
  undress(tail, shared);
  // The last head hands on the packet world's own reference instead of taking one more.
  if (--tail->refs != 0) rte_mbuf_refcnt_update(shared, 1);
  head->next = shared;
  head->nb_segs = 2;
  head->pkt_len += tail->size;
  return head;
}

unsigned MbufPool::available() const { return rte_mempool_avail_count(mempool_); }

}  // namespace l3dml::io
