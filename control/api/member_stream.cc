// A member's stream: what it reports goes to the controller, what the controller says is queued and written.
// gRPC calls the reactor's hooks one at a time for reads and one at a time for writes; `mutex_` guards what
// both touch. The controller may hold its lock while it queues, so nothing here calls it with `mutex_` held.
#include <deque>
#include <mutex>

#include "control/api/convert.h"
#include "control/api/services.h"

namespace l3dml::control {
namespace {

class MemberStream final : public grpc::ServerBidiReactor<api::MemberMessage, api::ControllerMessage> {
 public:
  explicit MemberStream(Controller* controller) : controller_(*controller) { StartRead(&incoming_); }

  void OnReadDone(bool ok) override {
    if (!ok) return leave_stream(grpc::Status::OK);
    if (grpc::Status s = hear(); !s.ok()) return leave_stream(s);
    StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    const auto outbox = outbox_;  // Finish may be the end of us
    const std::lock_guard lock(outbox->mutex);
    outbox->queue.pop_front();
    writing_ = false;
    if (ok) write_next();
  }

  void OnCancel() override {}
  void OnDone() override { delete this; }

 private:
  // Shared with the controller, which may still say something while the stream ends.
  struct Outbox {
    std::mutex mutex;
    std::deque<api::ControllerMessage> queue;
    MemberStream* stream = nullptr;  // null: ended
  };

  grpc::Status hear() {
    const api::MemberMessage& message = incoming_;
    if (message.has_attach()) return attach(message.attach());
    if (attendance_ == 0)
      return {grpc::StatusCode::FAILED_PRECONDITION, "a member's stream begins with `attach`"};
    if (message.has_renew()) {
      controller_.renew_attended(job_, rank_, attendance_, message.renew().round_trip_s(),
                                 message.renew().result_s());
    } else if (message.has_leave()) {
      return to_grpc(controller_.leave(job_, token_, rank_));
    } else {
      const auto report = from_proto(message, rank_);
      if (!report.ok()) return to_grpc(report.status());
      controller_.report(job_, rank_, attendance_, message.stripe(), *report);
    }
    return grpc::Status::OK;
  }

  grpc::Status attach(const api::MemberMessage::Attach& attach) {
    if (attendance_ != 0) return {grpc::StatusCode::FAILED_PRECONDITION, "this stream has attached already"};
    if (attach.epochs_size() != attach.changes_size() || attach.epochs_size() != attach.paused_size())
      return {grpc::StatusCode::INVALID_ARGUMENT, "attach names epoch, change and pause of each stripe"};
    std::vector<Controller::Standing> standings;
    for (int i = 0; i < attach.epochs_size(); ++i)
      standings.push_back({static_cast<uint8_t>(attach.epochs(i)), attach.changes(i), attach.paused(i)});
    job_ = attach.job();
    token_ = attach.token();
    rank_ = attach.rank();
    outbox_->stream = this;
    const auto attendance =
        controller_.attach(job_, token_, rank_, standings, [outbox = outbox_](const Controller::ToMember& m) {
          api::ControllerMessage out;
          to_proto(m, &out);
          say(outbox, std::move(out));
        });
    if (!attendance.ok()) return to_grpc(attendance.status());
    attendance_ = *attendance;
    api::ControllerMessage attached;
    attached.mutable_attached();
    say(outbox_, std::move(attached));
    return grpc::Status::OK;
  }

  static void say(const std::shared_ptr<Outbox>& outbox, api::ControllerMessage message) {
    const std::lock_guard lock(outbox->mutex);
    if (!outbox->stream) return;
    outbox->queue.push_back(std::move(message));
    outbox->stream->write_next();
  }

  void write_next() {  // with the lock
    if (writing_ || !outbox_->stream) return;
    if (!outbox_->queue.empty()) {
      writing_ = true;
      StartWrite(&outbox_->queue.front());
    } else if (ending_) {
      outbox_->stream = nullptr;
      Finish(end_);
    }
  }

  // What is queued is said before: an attach that failed, or a last word.
  void leave_stream(const grpc::Status& status) {
    if (attendance_ != 0) controller_.detach(job_, rank_, attendance_);
    const auto outbox = outbox_;
    const std::lock_guard lock(outbox->mutex);
    if (!outbox->stream) return Finish(status);  // never attached
    ending_ = true;
    end_ = status;
    write_next();
  }

  Controller& controller_;
  api::MemberMessage incoming_;
  std::string job_, token_;
  uint32_t rank_ = 0;
  uint64_t attendance_ = 0;
  std::shared_ptr<Outbox> outbox_ = std::make_shared<Outbox>();
  bool writing_ = false, ending_ = false;
  grpc::Status end_;
};

}  // namespace

grpc::ServerBidiReactor<api::MemberMessage, api::ControllerMessage>* JobsService::Attend(
    grpc::CallbackServerContext*) {
  return new MemberStream(&controller_);
}

}  // namespace l3dml::control
