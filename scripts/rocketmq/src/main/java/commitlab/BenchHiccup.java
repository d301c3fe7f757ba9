package commitlab;

import java.util.concurrent.locks.LockSupport;

/**
 * A thread that only sleeps, from one point of a 1 ms grid to the next, and records how late
 * it woke: the noise of machine and virtual machine. Points that passed during one long sleep
 * each count with their own lateness.
 */
final class BenchHiccup extends Thread {
    private static final long PERIOD_NS = 1_000_000;

    final BenchRecorder recorder = new BenchRecorder(1, false, 0);
    private final BenchLoad load;

    BenchHiccup(BenchLoad load) {
        super("hiccup");
        this.load = load;
        setDaemon(true);
    }

    @Override
    public void run() {
        long due = load.now() + PERIOD_NS;
        while (!load.isStopped()) {
            long now = load.now();
            if (now < due) {
                LockSupport.parkNanos(due - now);
                now = load.now();
            }
            if (now < due) {
                continue; // woken early, for no reason
            }
            long entered = recorder.enter();
            for (; due <= now; due += PERIOD_NS) {
                recorder.active().series[0][BenchBuffer.SERVICE].record(now - due);
            }
            recorder.exit(entered);
        }
    }
}
