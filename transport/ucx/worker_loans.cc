// Long pieces that the receiver reads from the sender's memory by itself: one copy, or none of a
// processor's, by UCX's rendezvous.
//
// A loan may end before it is repaid: a transfer that is cancelled gives its memory back at once,
// on either side. A sender whose memory went says so after UCX has finished, and sends the bytes
// again as a copy; a receiver stops UCX first, or waits for it. So no byte is believed before the
// sender has said, after the reading, that it was the right one.
#include <algorithm>
#include <utility>

#include "transport/ucx/worker.h"

namespace hr::ucx {
namespace {

// How long a reading may take before the receiver gives up. It takes the time of the receiver or of
// its network adapter, never that of the peer.
constexpr auto kPatience = std::chrono::seconds(1);
// How long a reading of kMaxLoanBytes takes if memory is slow.
constexpr auto kReadingTime = std::chrono::microseconds(500);

}  // namespace

// ---- The sender ----

size_t UcxWorker::Lend(Line& line, Bytes bytes) {
  bytes = bytes.first(std::min(bytes.size(), kMaxLoanBytes));
  line.lending = Lending::kActive;
  line.lent = std::chrono::steady_clock::now();
  Post(NewPacket(line, EnvelopeKind::kLoan), bytes);
  return bytes.size();
}

bool UcxWorker::PeerReads(const Line& line) {
  return line.lending != Lending::kNone &&
         std::chrono::steady_clock::now() < line.lent + kReadingTime;
}

// The peer has read the bytes: tells it whether they were the right ones.
void UcxWorker::Settle(Line& line) {
  const bool lent = std::exchange(line.lending, Lending::kNone) == Lending::kActive;
  if (!lent) line.taken = 0;
  Post(NewPacket(line, lent ? EnvelopeKind::kRepaid : EnvelopeKind::kRevoked));
}

// ---- The receiver ----

ucs_status_t UcxWorker::OnLoan(Line& line, void* message, size_t bytes) {
  if (line.loan != nullptr || bytes == 0 || bytes > kMaxLoanBytes) {
    line.status = DataLoss("the peer broke the protocol: an impossible loan");
    return UCS_OK;
  }
  auto loan = std::make_unique<Loan>();
  loan->bytes = bytes;
  loan->message = message;
  line.loan = line.inbox.Hold(std::move(loan));
  return UCS_INPROGRESS;  // the message stays
}

// Keeps the bytes if the reader is not `patient`, or there is too little room.
void UcxWorker::Borrow(Loan& loan, std::span<std::byte> to, bool patient) {
  loan.to = to.data();
  if (!patient || to.size() < loan.bytes) {
    loan.own = std::make_unique_for_overwrite<std::byte[]>(loan.bytes);
    loan.to = loan.own.get();
  }
  ucp_request_param_t params;
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.recv_am = OnBorrowed;
  params.user_data = &loan;
  void* request = ucp_am_recv_data_nbx(worker_, std::exchange(loan.message, nullptr), loan.to,
                                       loan.bytes, &params);
  if (UCS_PTR_IS_PTR(request)) {
    loan.request = request;
  } else {
    loan.status = UCS_PTR_RAW_STATUS(request);
  }
}

void UcxWorker::OnBorrowed(void* request, ucs_status_t status, size_t, void* data) {
  Loan& loan = *static_cast<Loan*>(data);
  loan.status = status;
  loan.request = nullptr;
  ucp_request_free(request);
}

Result<size_t> UcxWorker::ReadLoan(Line& line, std::span<std::byte> to, bool patient) {
  Loan& loan = *line.inbox.loan();
  if (loan.message != nullptr) Borrow(loan, to, patient);
  Progress();
  if (loan.reading() || !loan.ended()) {
    if (!line.status.ok()) return line.status.Clone();
    return 0;
  }
  if (loan.status != UCS_OK && loan.verdict == EnvelopeKind::kRepaid) {
    line.status = UcxFailure("cannot read the peer's memory", loan.status);
    return line.status.Clone();
  }
  const bool here = loan.own == nullptr && loan.verdict == EnvelopeKind::kRepaid;
  const size_t bytes = loan.bytes;
  line.inbox.EndLoan();
  return here ? bytes : line.inbox.Take(to.data(), to.size());
}

void UcxWorker::AwaitReading(Line& line, Loan& loan) {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (loan.reading() && std::chrono::steady_clock::now() < give_up) Progress();
  if (!loan.reading()) return;
  // A network that has lost the peer takes seconds to say so; without the connection it ends at
  // once.
  if (line.status.ok()) line.status = Unavailable("the peer's memory cannot be read any more");
  CloseEndpoint(line);
  while (loan.reading()) Progress();
}

void UcxWorker::StopReading(Line& line) {
  Loan* loan = line.inbox.loan();
  if (loan == nullptr || loan->to == nullptr || loan->own != nullptr) return;
  AwaitReading(line, *loan);
  loan->own = std::make_unique_for_overwrite<std::byte[]>(loan->bytes);
  std::memcpy(loan->own.get(), loan->to, loan->bytes);
  loan->to = loan->own.get();
}

void UcxWorker::EndLoans(Line& line) {
  line.loan = nullptr;
  line.inbox.ForEachLoan([&](Loan& loan) {
    if (loan.message != nullptr) ucp_am_data_release(worker_, std::exchange(loan.message, nullptr));
    AwaitReading(line, loan);
  });
}

}  // namespace hr::ucx
