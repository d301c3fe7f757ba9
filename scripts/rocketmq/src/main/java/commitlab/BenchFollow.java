package commitlab;

import java.nio.file.Path;
import org.apache.rocketmq.store.AppendMessageResult;

/**
 * Puts messages and times until each is found by queue and key, which is looked at after
 * every put of the same worker. Operations: follow, append, readable.
 */
final class BenchFollow extends BenchAppend {
    private static final int APPEND = 1;
    private static final int READABLE = 2;
    private static final int MOST_PENDING = 1 << 14; // what a worker follows at a time; a power of two

    private final Pending[] pending;

    /** Messages not known to be dispatched, oldest first. When full, further ones are not followed. */
    private static final class Pending {
        final long[] end = new long[MOST_PENDING]; // log offset behind the message
        final long[] at = new long[MOST_PENDING]; // when its put returned
        long head;
        long tail;
    }

    BenchFollow(BenchPlan plan, Path dir, int fileBytes) {
        super(plan, dir, fileBytes);
        pending = new Pending[plan.workers];
        for (int i = 0; i < pending.length; i++) {
            pending[i] = new Pending();
        }
    }

    @Override
    public void op(BenchWorker w) throws Exception {
        long start = w.now();
        AppendMessageResult r = put(w.id);
        long now = w.now();
        w.observe(APPEND, now - start);
        Pending p = pending[w.id];
        if (p.tail - p.head < MOST_PENDING) {
            int i = (int) (p.tail++ % MOST_PENDING);
            p.end[i] = r.getWroteOffset() + r.getWroteBytes();
            p.at[i] = now;
        }
        long dispatched = store.dispatched();
        while (p.head < p.tail && p.end[(int) (p.head % MOST_PENDING)] <= dispatched) {
            w.observe(READABLE, w.now() - p.at[(int) (p.head++ % MOST_PENDING)]);
        }
    }
}
