#include "dataplane/app/trace_capture.h"

#include "absl/strings/str_cat.h"
#include "dataplane/io/copy.h"

namespace l3dml::app {
namespace {

// What was said of the packet that this thread has in hand, and by whom it is wanted.
struct InHand {
  const TraceCapture* owner = nullptr;
  std::string story;
};
thread_local InHand in_hand;

}  // namespace

TraceCapture::~TraceCapture() {
  for (const Frame& frame : frames_) base::release(frame.copy);
}

void TraceCapture::see(const base::Packet& packet, Direction direction, int64_t now_ns) {
  if (direction == Direction::in) in_hand = {this, {}};
  if (in_hand.owner != this) return file_->write(interface_, packet, direction, now_ns, in_hand.story);
  if (base::Packet* copy = io::copy_packet(packet, pool_))
    frames_.push_back({copy, direction, now_ns, direction == Direction::out ? in_hand.story : ""});
}

void TraceCapture::done() {
  for (Frame& frame : frames_) {
    file_->write(interface_, *frame.copy, frame.direction, frame.time_ns,
                 frame.direction == Direction::in ? in_hand.story : frame.comment);
    base::release(frame.copy);
  }
  frames_.clear();
  in_hand = {};
}

void TraceCapture::line(uint64_t packet, std::string_view block, const std::string& text) {
  if (in_hand.owner == nullptr) return;
  absl::StrAppend(&in_hand.story, in_hand.story.empty() ? "" : "\n", "[", packet, "] ", std::string(block),
                  ": ", text);
}

}  // namespace l3dml::app
