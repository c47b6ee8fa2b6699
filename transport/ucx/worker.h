// UCX's context and worker, and all lines of a transport.
#pragma once

#include <ucp/api/ucp.h>

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "transport/ucx/line.h"
#include "transport/ucx/peer.h"

namespace hr::ucx {

Status UcxFailure(std::string_view what, ucs_status_t status);

class UcxWorker {
 public:
  // `confined`: shared memory of this host is all that it uses. `lends`: what is long is read by
  // the peer, by UCX's rendezvous, even if no network adapter does that.
  static Result<std::unique_ptr<UcxWorker>> Create(bool confined, bool lends);
  ~UcxWorker();
  // What UCX finds on this machine; see UcxResources.
  static Result<std::vector<std::string>> Look();

  // What peers need to connect.
  const UcxPeer& self() const { return self_; }
  int wait_handle() const { return epoll_.get(); }

  // Opens a line to a worker: the side that dials says hello on it.
  Result<Line*> Dial(const UcxPeer& peer);
  // The line of a process that has called, or null; a failure if one cannot be answered.
  Result<Line*> Answer();
  // Tells the peer, and frees the line when UCX is done with it.
  void HangUp(Line& line);

  // Sends up to kPacketRoom bytes of `pieces`; returns how many are on their way and need no more
  // progress. If UCX holds them back that is 0 until it has let them go, and then their number:
  // `pieces` have to be the same until then, and stay where they are unless Keep() is called.
  Result<size_t> Send(Line& line, std::span<const Bytes> pieces);
  // The whole of a short eager frame, if UCX takes it at once; else nothing has happened.
  static bool SendEager(Line& line, uint64_t tag, uint64_t label, Bytes payload);
  // Copies what UCX holds back.
  static void Keep(Line& line) {
    if (line.posted != nullptr) line.posted->Keep();
    if (line.lending == Lending::kActive) line.lending = Lending::kRevoked;
  }
  // Reads what has come for the line; looks a few times. A failure comes after the last byte.
  // `patient`: if it returns 0, UCX may go on to write into `to` until StopReading(), and the
  // next call names the same.
  Result<size_t> Receive(Line& line, std::span<std::byte> to, bool patient);
  void StopReading(Line& line);
  // Whether the peer reads what was lent to it, which should be over soon.
  static bool PeerReads(const Line& line);
  static bool TakesMore(const Line& line) { return line.pending == 0; }
  bool Progress() { return ucp_worker_progress(worker_) != 0; }
  // Looks after lines that are closing, and after peers that died or do not answer.
  void Tend();
  // Progresses until nothing comes.
  void Drain();
  bool HasCallers() const { return !callers_.empty(); }
  // Has the wait handle raised when something comes. False if that cannot be promised now.
  bool Arm();

 private:
  UcxWorker() = default;
  Status Start(bool confined);
  Status StartContext(bool confined);
  Status StartWorker();
  Status ReadAddress();
  Status WatchEvents();
  Line& NewLine(uint64_t key);
  Status Open(Line& line, const UcxPeer& peer);
  Status WatchProcess(Line& line, const UcxPeer& peer);
  void FindDeaths();
  bool SetTimer();
  void Close(Line& line);
  void CloseEndpoint(Line& line);
  bool Closed(Line& line);
  Packet& NewPacket(Line& line, EnvelopeKind kind);
  size_t PostBytes(Line& line, std::span<const Bytes> pieces);
  size_t Lend(Line& line, Bytes bytes);
  void Settle(Line& line);
  static ucs_status_t OnLoan(Line& line, void* message, size_t bytes);
  void Borrow(Loan& loan, std::span<std::byte> to, bool patient);
  Result<size_t> ReadLoan(Line& line, std::span<std::byte> to, bool patient);
  void AwaitReading(Line& line, Loan& loan);
  void EndLoans(Line& line);
  void SayHello(Line& line);
  Status Welcome(const UcxHello& hello, Line& line);
  void Post(Packet& packet, Bytes lent = {});
  Line* FindLine(const Envelope& envelope, Bytes rest);
  Line* FindLine(uint32_t id);
  void OnHello(uint64_t key, Bytes text);

  static ucs_status_t OnActiveMessage(void* self, const void* header, size_t header_bytes,
                                      void* data, size_t bytes, const ucp_am_recv_param_t* param);
  static ucs_status_t OnShortMessage(void* self, const void* header, size_t header_bytes,
                                     void* data, size_t bytes, const ucp_am_recv_param_t* param);
  static void OnBorrowed(void* request, ucs_status_t status, size_t bytes, void* loan);
  static void OnSent(void* request, ucs_status_t status, void* packet);
  static void OnFailure(void* line, ucp_ep_h endpoint, ucs_status_t status);

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_datatype_t packet_type_ = 0;  // of packets with a body
  Descriptor deaths_;               // an epoll of processes
  Descriptor timer_;
  long timer_nanos_ = 0;  // that it was set to last; 0: it is not
  Descriptor epoll_;      // of UCX's events, of deaths and of the timer
  bool news_ = false;     // something came for a line
  UcxPeer self_;
  bool shares_memory_ = false;  // with processes of this host
  bool has_rdma_ = false;
  bool lends_ = false;  // to all
  uint64_t next_key_ = 0;
  uint32_t last_id_ = 0;
  std::unordered_map<uint64_t, Line*> lines_;  // by key; those in use
  std::unordered_map<uint32_t, Line*> ids_;    // the same, by id
  Line* last_ = nullptr;                       // that something came for
  std::vector<std::unique_ptr<Line>> all_;     // those that are closing, too
  struct Caller {
    Line* line;
    UcxHello hello;
  };
  std::deque<Caller> callers_;  // not answered yet
  std::vector<std::unique_ptr<Packet>> packets_;
  std::vector<Packet*> free_;
};

}  // namespace hr::ucx
