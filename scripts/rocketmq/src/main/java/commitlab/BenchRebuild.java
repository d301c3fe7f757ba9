package commitlab;

import com.google.gson.JsonObject;
import java.nio.file.Path;

/**
 * Restarts a store without queues and index: they are built from the log. Operations:
 * rebuild, all of it, and dispatch_message, the share of one message in the dispatch alone.
 */
final class BenchRebuild extends BenchFilled {
    private static final int DISPATCH_MESSAGE = 1;

    BenchRebuild(BenchPlan plan, Path dir) {
        super(plan, dir);
    }

    @Override
    public void setUp() throws Exception {
        super.setUp();
        store.close();
    }

    @Override
    public void op(BenchWorker w) throws Exception {
        Bench.remove(dir.resolve("consumequeue"));
        Bench.remove(dir.resolve("index"));
        store = BenchStore.load(plan, dir, 0);
        Watch watch = new Watch(w);
        watch.start();
        store.store.start(); // looks once a second whether the dispatch is done
        watch.join();
        w.observe(DISPATCH_MESSAGE, watch.took / put.size());
        store.close();
    }

    /** Sees the dispatch begin, when its start offset is set and first moves, and end. */
    private final class Watch extends Thread {
        private static final long POLL_NS = 50_000;

        private final BenchWorker worker;
        private final long whole = store.store.dispatchBehindBytes();
        long took;

        Watch(BenchWorker worker) {
            this.worker = worker;
        }

        @Override
        public void run() {
            long begun = worker.now();
            for (long behind = whole; behind > 0; behind = store.store.dispatchBehindBytes()) {
                if (behind == whole) {
                    begun = worker.now();
                }
                java.util.concurrent.locks.LockSupport.parkNanos(POLL_NS);
            }
            took = worker.now() - begun;
        }
    }

    /** Opens the store once more for the comparison. */
    @Override
    public void verify() throws Exception {
        store = BenchStore.open(plan, dir, 0);
        super.verify();
    }

    /** The store is open only within an operation. */
    @Override
    public JsonObject counters() {
        return null;
    }

    /** Every operation closes what it opened. */
    @Override
    public void close() { }
}
