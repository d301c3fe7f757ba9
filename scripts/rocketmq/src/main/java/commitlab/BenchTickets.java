package commitlab;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Hands the operations of a schedule to the workers, in order and each once, as
 * bench/measure does: a number is drawn only when its due time has come, and no more workers
 * watch the clock than there are processors; the others park.
 */
final class BenchTickets {
    /** How long before the due time a sleep ends on paper: what the kernel may be late by. */
    private static final long SLEEP_MARGIN_NS = 120_000;
    private static final long SHORTEST_SLEEP_NS = 50_000;
    private static final long LONGEST_SLEEP_NS = 2_000_000; // so that a stop is seen

    private final BenchPlan plan;
    private final BenchLoad load;
    private final int watchers = Runtime.getRuntime().availableProcessors();
    private final boolean yields; // spinning workers could take every processor
    private final AtomicLong next = new AtomicLong();
    private final AtomicInteger watching = new AtomicInteger();
    private final AtomicInteger parked = new AtomicInteger();
    private final Semaphore wake = new Semaphore(0);

    BenchTickets(BenchPlan plan, BenchLoad load) {
        this.plan = plan;
        this.load = load;
        yields = plan.workers >= watchers;
    }

    /** Waits for the next operation that nobody has drawn and puts it into w; false if there is none. */
    boolean draw(BenchWorker w) throws InterruptedException {
        while (true) {
            long n = next.get();
            long due = plan.due(n);
            if (due >= load.end() || load.isStopped()) {
                wakeOne(); // who finds the end as well, and wakes the next one
                return false;
            }
            long now = load.now();
            if (now < due) {
                now = await(due);
                if (now < due) {
                    continue;
                }
            }
            if (next.compareAndSet(n, n + 1)) {
                if (parked.get() > 0 && watching.get() == 0) {
                    wakeOne();
                    now = load.now();
                }
                w.n = n;
                w.due = due;
                w.start = now;
                return true;
            }
        }
    }

    /** Passes time until due as a watcher, or parks until one is wanted. Returns a time before due to say: draw again. */
    private long await(long due) throws InterruptedException {
        if (watching.incrementAndGet() <= watchers) {
            long now = until(due);
            watching.decrementAndGet();
            return now;
        }
        parked.incrementAndGet();
        // Either the last watcher sees us parked, or we see that it has gone.
        if (watching.decrementAndGet() > 0) {
            wake.tryAcquire(50, TimeUnit.MILLISECONDS);
        }
        parked.decrementAndGet();
        return -1;
    }

    private long until(long due) {
        while (true) {
            long now = load.now();
            long wait = due - now;
            if (wait <= 0 || load.isStopped()) {
                return now;
            }
            if (wait > SLEEP_MARGIN_NS + SHORTEST_SLEEP_NS) {
                LockSupport.parkNanos(Math.min(wait - SLEEP_MARGIN_NS, LONGEST_SLEEP_NS));
            } else if (yields) {
                Thread.yield();
            } else {
                Thread.onSpinWait();
            }
        }
    }

    private void wakeOne() {
        if (wake.availablePermits() == 0) {
            wake.release();
        }
    }
}
