// PROBEs on their way: the tag of each is a cookie that its answer must bring back, with the number asked
// about. So a round trip is never attributed to the wrong probe, and a forged or stale answer changes
// nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace l3dml::host {

class ProbeCookies {
 public:
  static constexpr uint32_t kPlaces = 256;  // more than are ever on their way at once

  explicit ProbeCookies(uint32_t seed) : state_(seed * 2654435761u + 1) {}

  // `timing`: asked for the round trip alone, about a number that was not sent.
  uint16_t issue(uint32_t number, bool timing, int64_t now_ns) {
    state_ = state_ * 1664525u + 1013904223u;
    const auto place = static_cast<uint16_t>(counter_++ % kPlaces);
    const auto tag = static_cast<uint16_t>((state_ >> 24) << 8 | place);
    places_[place] = {number, tag, true, timing, now_ns};
    return tag;
  }

  struct Answer {
    int64_t round_trip_ns;
    bool timing;
    bool overtaken;  // by the answer to a later probe: it measures nothing
  };
  std::optional<Answer> redeem(uint16_t tag, uint32_t number, int64_t now_ns) {
    Place& place = places_[tag % kPlaces];
    if (!place.used || place.tag != tag || place.number != number) return std::nullopt;
    place.used = false;
    const bool overtaken = place.sent_ns < newest_answered_ns_;
    newest_answered_ns_ = std::max(newest_answered_ns_, place.sent_ns);
    return Answer{now_ns - place.sent_ns, place.timing, overtaken};
  }

 private:
  struct Place {
    uint32_t number = 0;
    uint16_t tag = 0;
    bool used = false, timing = false;
    int64_t sent_ns = 0;
  };
  std::array<Place, kPlaces> places_{};
  int64_t newest_answered_ns_ = INT64_MIN;  // when the newest probe that was answered was sent
  uint32_t state_;
  uint32_t counter_ = 0;
};

}  // namespace l3dml::host
