// The deliberate faults of the mutation check: one line each, named where L3DML_MUTATE(name) stands in
// pipeline, worker core and coordinator. This header is put before every source of `l3dml-sim-mutations`, a
// second build of those sources; no other program knows of it. One fault is active per thread, chosen at run
// time.
#pragma once

#include <cstdint>

// X(name, what is done wrong)
#define L3DML_MUTATIONS(X)                                                                          \
  /* dataplane/blocks, dataplane/pipeline */                                                        \
  X(slot_bitmap_test_skipped, "a child that was seen is added again")                               \
  X(slot_done_overlooked, "a final entry is not known as one")                                      \
  X(slot_numbers_compared_plainly, "stamp and number are compared without wrapping")                \
  X(slot_stale_restarts, "an old number restarts a newer entry")                                    \
  X(slot_equal_restarts, "a second child restarts the entry")                                       \
  X(slot_restart_keeps_bitmap, "a restarted entry keeps its old bitmap")                            \
  X(slot_child_of_the_restart_uncounted, "the child that restarts an entry is not counted")         \
  X(slot_complete_too_early, "an entry is complete with one child missing")                         \
  X(down_without_stamp_test, "an old result overwrites a newer entry")                              \
  X(down_leaves_entry_open, "an inner aggregator does not mark the result as final")                \
  X(probe_restarts, "a PROBE restarts an entry")                                                    \
  X(probe_without_stamp_test, "a PROBE for an old number is answered with a newer result")          \
  X(probe_always_says_waiting, "a PROBE never says that the own packet is missing")                 \
  X(probe_sends_no_sum, "a PROBE does not make an inner aggregator send its sum again")             \
  X(root_never_done, "the root does not mark its result as final")                                  \
  X(empty_first_up_writes_no_zeros, "an UP without lanes that restarts an entry leaves old lanes")  \
  X(completing_packet_keeps_its_lanes, "the packet that completes a sum leaves with its own lanes") \
  X(weight_kept_on_restart, "a restarted entry keeps its weight")                                   \
  X(weight_not_added, "weights are not added")                                                      \
  X(exponent_kept_on_restart, "a restarted entry keeps its exponent")                               \
  X(exponents_may_differ, "lanes of different exponents are summed without a word")                 \
  X(non_finite_over_differing, "not finite is written over differing exponents")                    \
  X(wish_of_the_last_counts, "the last wish for an exponent counts, not the greatest")              \
  X(hole_not_closed, "a hole is asked for again with every packet")                                 \
  X(repairs_without_ration, "NACKs are answered without limit")                                     \
  X(nack_beyond_the_ring, "a NACK is answered beyond what the ring remembers")                      \
  X(repairs_what_slot_holds_now, "a repair takes what the slot holds, whatever its number")         \
  X(repairs_sum_after_result, "an UP is repaired from an entry that holds the result")              \
  X(shards_share_slots, "shards of one pipe use the same slots")                                    \
  X(sum_weighs_one, "an inner aggregator's sum has weight 1")                                       \
  X(sum_as_long_as_its_last_up, "an inner aggregator's sum is as long as the last packet")          \
  X(multicast_leaks_its_tail, "the shared lanes of a multicast are never given back")               \
  /* tools/host */                                                                                  \
  X(ring_of_one_window, "ring x shards is W instead of 2 W")                                        \
  X(window_twice_as_large, "a worker uses twice the window")                                        \
  X(result_of_any_number, "a result is taken for whatever number is in flight")                     \
  X(results_not_kept, "no copies of results are kept")                                              \
  X(repeats_not_reported, "results to be repeated are left out of a report")                        \
  X(repeat_skips_a_number, "a repeat leaves a number out")                                          \
  X(repeat_after_what_is_queued, "a repeat is numbered after what its position has queued")         \
  X(overflow_taken_as_result, "a chunk that did not fit is not repeated")                           \
  X(average_over_all, "an average divides by all workers, not by the weight")                       \
  X(missing_not_sent_again, "an UP that the switch misses is not sent again")                       \
  X(never_asks, "a silent number is never asked about")                                             \
  X(paused_member_listens, "a paused member takes packets")                                         \
  X(paused_member_sends, "a paused member sends")                                                   \
  X(copies_not_installed, "a handed-out result is not taken")                                       \
  X(history_outlives_epoch, "predictions survive a change of epoch")                                \
  X(prediction_not_waited_for, "a chunk does not wait for the results it is predicted from")        \
  X(sends_what_does_not_fit, "lanes that do not fit are sent")                                      \
  X(non_finite_not_told, "an input that is not finite is told as one that does not fit")            \
  X(resend_scaled_otherwise, "what is sent again is scaled by another exponent")                    \
  X(empty_up_weighs_one, "an UP without lanes has weight 1")                                        \
  X(residual_left_when_quantising, "residuals are written when lanes are made")                     \
  X(abstention_leaves_no_residual, "what a member did not send is not kept for the next step")      \
  /* control/jobs */                                                                                \
  X(pause_not_awaited, "the first report counts for all")                                           \
  X(oldest_report_is_final, "the oldest report of a position is final, not the newest")             \
  X(copies_not_handed_out, "members that lack a final result do not get it")                        \
  X(copies_of_the_first_asked, "copies are fetched from whoever reported first")                    \
  X(both_epochs_admitted, "the new epoch is admitted beside the old")                               \
  X(removal_not_awaited, "the new epoch does not wait for the old one's removal")                   \
  X(silent_switch_used, "a switch that did not confirm stays in the tree")                          \
  X(install_not_awaited, "members resume before the switches have confirmed")                       \
  X(epoch_number_used_again, "the epoch's number stays the same")                                   \
  X(first_number_not_newer, "the first number of an epoch may be an old one")                       \
  X(stamps_not_overwritten, "stamps that stand in the way are left")                                \
  X(numbers_in_flight_forgotten, "stamps of numbers in flight are not reckoned with")               \
  X(member_loss_ignored, "a lost member is waited for")                                             \
  X(switch_loss_ignored, "a lost switch stays in the tree")                                         \
  X(switch_restart_ignored, "a restarted switch is trusted with its tables")                        \
  X(lost_member_not_told, "a member that is left out is not told")                                  \
  X(joiner_starts_at_once, "a joiner starts in the midst of collectives")                           \
  X(joiner_starts_from_the_first, "a joiner starts with the job's first collective")

namespace l3dml::sim {

enum class Mutation : uint8_t {
  none,
#define L3DML_X(name, text) name,
  L3DML_MUTATIONS(L3DML_X)
#undef L3DML_X
      count_
};

inline thread_local constinit Mutation active_mutation = Mutation::none;

}  // namespace l3dml::sim

#define L3DML_MUTATE(name) (::l3dml::sim::active_mutation == ::l3dml::sim::Mutation::name)
