package commitlab;

import java.util.ArrayList;
import java.util.List;

/**
 * One run: warm-up, window and drain of a scenario under a plan, by the rules of
 * bench/measure. Workers and the hiccup meter have threads of their own; the thread that
 * calls {@link #run} collects what they record, tick by tick.
 *
 * <pre>
 * clock   0          cut                          end         limit
 *         |  warm-up  |  measured window           |   drain   |
 * </pre>
 */
final class BenchLoad {
    /** Takes the ticks of a run; called by the run's thread. */
    interface Sink {
        void tick(BenchTick tick) throws Exception;
    }

    private final BenchPlan plan;
    private final BenchScenario scenario;
    private final Sink sink;
    private final BenchTickets tickets; // of an open loop
    private final BenchHiccup hiccup = new BenchHiccup(this);
    private final List<BenchWorker> workers = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    // The clock's zero, set before any other thread of the run begins.
    private long base;
    long dateMs;

    // Limits of the run's clock; written by the run's thread, read for each operation.
    private volatile long cut;
    private volatile long end;
    private volatile long sendUntil;
    private volatile boolean stopped; // waits end
    private volatile boolean abandoned; // what ends now is no longer recorded

    // Of the run's thread, and of whoever reads them after it:
    long openedNs = -1;
    long drainedNs;
    long done;
    long late;
    long failed;
    long ended;
    long busyNs;
    long outliersDropped;
    long unfinished;
    boolean hung; // an operation never returned

    // Guarded by this; changes are notified.
    private boolean cancelled;
    private String failure;
    private String endedEarly;
    private int running;

    private long lastTick;

    BenchLoad(BenchPlan plan, BenchScenario scenario, Sink sink) {
        this.plan = plan;
        this.scenario = scenario;
        this.sink = sink;
        tickets = plan.isClosed() ? null : new BenchTickets(plan, this);
        cut = plan.warmupNs;
        end = plan.warmupNs + plan.durationNs;
        sendUntil = plan.isClosed() ? end : end + plan.drainNs;
        for (int id = 0; id < plan.workers; id++) {
            workers.add(new BenchWorker(id, plan, this, scenario));
        }
    }

    // What workers ask.

    long now() {
        return System.nanoTime() - base;
    }

    long cut() {
        return cut;
    }

    long end() {
        return end;
    }

    boolean isStopped() {
        return stopped;
    }

    boolean isAbandoned() {
        return abandoned;
    }

    boolean isOutlier(long ns) {
        return plan.outlierOverNs > 0 && ns >= plan.outlierOverNs;
    }

    /** Puts the worker's next operation into it; false if there is none. */
    boolean begin(BenchWorker w, long taken) throws InterruptedException {
        if (tickets != null) {
            return tickets.draw(w) && w.start < sendUntil;
        }
        w.n = taken;
        w.start = w.due = now();
        return w.start < end;
    }

    synchronized void fail(Throwable e) {
        if (failure == null && endedEarly == null) {
            failure = e.getMessage() == null ? e.toString() : e.getMessage();
        }
        notifyAll();
    }

    synchronized void endEarly(String why) {
        if (failure == null && endedEarly == null) {
            endedEarly = why;
        }
        notifyAll();
    }

    /** Ends the load early; from any thread. */
    synchronized void cancel() {
        cancelled = true;
        notifyAll();
    }

    synchronized String failure() {
        return failure;
    }

    synchronized String endedEarly() {
        return endedEarly;
    }

    // The run.

    /** Runs the load to its end. What it did is in the fields and went to the sink. */
    void run() throws Exception {
        running = plan.workers;
        for (BenchWorker w : workers) {
            Thread t = new Thread(() -> {
                w.run();
                gone();
            }, "worker-" + w.id);
            t.setDaemon(true);
            threads.add(t);
        }
        dateMs = System.currentTimeMillis();
        base = System.nanoTime();
        hiccup.start();
        threads.forEach(Thread::start);
        if (until(cut, true)) {
            openedNs = cut;
            window();
        }
        drain();
    }

    private synchronized void gone() {
        running--;
        notifyAll();
    }

    /** Waits for a time; false if the run was broken off before, or everybody has gone. */
    private synchronized boolean until(long t, boolean breakable) throws InterruptedException {
        while (true) {
            if (breakable && (cancelled || failure != null || endedEarly != null)) {
                return false;
            }
            long wait = t - now();
            if (wait <= 0) {
                return true;
            }
            if (running == 0 && t > end) { // nothing to drain
                return false;
            }
            wait(wait / 1_000_000, (int) (wait % 1_000_000));
        }
    }

    private void window() throws Exception {
        hiccup.recorder.exchange().reset(); // what was before the window
        lastTick = openedNs;
        for (long next = openedNs + plan.tickNs;; ) {
            long target = Math.min(next, end);
            boolean reached = until(target, true);
            if (!reached) {
                halt();
            }
            collect(now(), false);
            if (!reached || target == end) {
                return;
            }
            for (long now = now(); next <= now; ) {
                next += plan.tickNs;
            }
        }
    }

    /** Ends sending now: what is due and not yet started stays undone. */
    private void halt() {
        long now = now();
        sendUntil = Math.min(sendUntil, now);
        end = Math.min(end, now);
        stopped = true;
    }

    /** First the backlog of the window, then the operations under way, each no longer than its limit. */
    private void drain() throws Exception {
        until(end + plan.drainNs, true);
        halt();
        until(now() + Math.max(plan.drainNs, 1_000_000_000L), false);
        abandoned = true;
        drainedNs = now();
        if (openedNs >= 0) {
            collect(drainedNs, true);
        }
        for (BenchWorker w : workers) {
            long inside = w.inside.get();
            hung |= inside > 0;
            if (inside > cut) {
                unfinished++;
            }
        }
        for (Thread t : threads) {
            if (!hung) {
                t.join();
            }
        }
        hiccup.join();
    }

    /** Makes a tick of what was recorded so far. After the drain, one without operations is left out. */
    private void collect(long now, boolean last) throws Exception {
        BenchTick tick = new BenchTick(lastTick, now);
        for (BenchWorker w : workers) {
            tick.take(w.id, plan.ops, w.recorder.exchange());
        }
        BenchBuffer hiccups = hiccup.recorder.exchange();
        tick.take(BenchTick.HICCUP, hiccups.series[0][BenchBuffer.SERVICE]);
        hiccups.reset();
        done += tick.done;
        late += tick.late;
        failed += tick.failed;
        ended += tick.ended;
        busyNs += tick.busyNs;
        outliersDropped += tick.outliersDropped;
        if (last && tick.isEmpty()) {
            return;
        }
        tick.counters = scenario.counters();
        lastTick = now;
        if (sink != null) {
            sink.tick(tick);
        }
    }
}
