// Entry from kernels into the engine: the table they are bound to, and the signal of a raw access.
#include "emulator/Engine.h"

#include <csignal>

using namespace coll::emu;
using namespace coll;
using emulated::Order;

namespace {

std::uint64_t toAddress(const void *pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

const emulated::Coordinates *coordinates() {
  return Engine::active->coordinates();
}
void load(const void *address, void *value, unsigned elementBytes, unsigned elements, Order order) {
  Engine::active->load(toAddress(address), value, elementBytes, elements, order);
}
void store(void *address, const void *value, unsigned elementBytes, unsigned elements, Order order) {
  Engine::active->store(toAddress(address), value, elementBytes, elements, order);
}
void loadLine(const void *address, void *value) {
  WarpCall call = {WarpCall::Load, toAddress(address), value, false, 0};
  Engine::active->meetWarp(call);
}
void storeLine(void *address, const void *value) {
  WarpCall call = {WarpCall::Store, toAddress(address), const_cast<void *>(value), false, 0};
  Engine::active->meetWarp(call);
}
void addLine(void *address, const void *value, unsigned elementBytes, emulated::Combine add) {
  WarpCall call = {WarpCall::Store, toAddress(address), const_cast<void *>(value), false, 0, add, elementBytes};
  Engine::active->meetWarp(call);
}
bool anyOfWarp(bool said) {
  WarpCall call = {WarpCall::Vote, 0, nullptr, said, 0};
  Engine::active->meetWarp(call);
  return call.said;
}
unsigned shuffleXor(unsigned value, unsigned mask) {
  WarpCall call = {WarpCall::Shuffle, mask, &value, false, value};
  Engine::active->meetWarp(call);
  return value;
}
unsigned loadShared(unsigned word) {
  return Engine::active->loadShared(word);
}
void storeShared(unsigned cta, unsigned word, unsigned value) {
  Engine::active->storeShared(cta, word, value);
}
void add4(void *address, unsigned value, Order order) {
  Engine::active->add4(toAddress(address), value, order);
}
void addEach(void *address, const void *value, unsigned elementBytes, unsigned elements, emulated::Combine add) {
  Engine::active->addEach(toAddress(address), value, elementBytes, elements, add);
}
void storeToAll(void *address, const void *value, unsigned elementBytes, unsigned elements) {
  Engine::active->storeToAll(toAddress(address), value, elementBytes, elements);
}
unsigned loadFromAll(const void *address, void *values, unsigned elementBytes, unsigned elements) {
  return Engine::active->loadFromAll(toAddress(address), values, elementBytes, elements);
}
void fence() {
  Engine::active->fence();
}
void gridDependencyWait() {
  Engine::active->gridDependencyWait();
}
void launchDependents() {
  Engine::active->launchDependents();
}
void ctaSync() {
  Engine::active->ctaSync();
}
void clusterSync() {
  Engine::active->clusterSync();
}
void expectShared(unsigned counter, unsigned words) {
  Engine::active->expectShared(counter, words);
}
void sendShared(unsigned cta, unsigned word, unsigned value, unsigned counter) {
  Engine::active->sendShared(cta, word, value, counter);
}
void awaitShared(unsigned counter, unsigned round) {
  Engine::active->awaitShared(counter, round);
}
void spinHint(const void *address) {
  Engine::active->spinHint(toAddress(address));
}
unsigned long long nanoseconds() {
  return Engine::active->nanoseconds();
}

} // namespace

const emulated::Table coll::emu::table = {coordinates, load,       store,       loadLine, storeLine, addLine, anyOfWarp,
                                          shuffleXor,  loadShared, storeShared, add4,     addEach,   storeToAll,
                                          loadFromAll, fence,      gridDependencyWait, launchDependents, ctaSync, clusterSync,
                                          expectShared, sendShared, awaitShared, spinHint,    nanoseconds};

struct SignalGuard::Saved {
  struct sigaction segv, bus;
  stack_t stack;
};

// The handler leaves by switching to the scheduler's stack and never returns; the thread that faulted is abandoned.
// That is sound here because the signal is synchronous and the code it interrupts is the kernel's, which holds no lock.
static void onSignal(int number, siginfo_t *info, void *) {
  if (Engine::active && Engine::active->insideKernel()) Engine::active->rawAccess(toAddress(info->si_addr));
  signal(number, SIG_DFL); // not ours: fault again, fatally
}

SignalGuard::SignalGuard() : stack(64 * 1024), saved(std::make_unique<Saved>()) {
  // A stack of its own, so that an overflow of a thread's stack can be reported too.
  stack_t own = {};
  own.ss_sp = stack.data(), own.ss_size = stack.size();
  sigaltstack(&own, &saved->stack);
  struct sigaction action = {};
  action.sa_sigaction = onSignal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER; // not blocked, as the handler does not return
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &saved->segv);
  sigaction(SIGBUS, &action, &saved->bus);
}

SignalGuard::~SignalGuard() {
  sigaction(SIGSEGV, &saved->segv, nullptr);
  sigaction(SIGBUS, &saved->bus, nullptr);
  sigaltstack(&saved->stack, nullptr);
}
