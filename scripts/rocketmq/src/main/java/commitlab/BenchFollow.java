package commitlab;

import java.nio.file.Path;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.store.AppendMessageResult;

/**
 * Puts messages and times from the start of each put until the message is found by queue
 * and key. When that is, the store's dispatch thread says; the worker only looks after each
 * put what it said, so that its looking does not count. Operations: follow, append,
 * readable.
 */
final class BenchFollow extends BenchAppend {
    private static final int APPEND = 1;
    private static final int READABLE = 2;
    private static final int MOST_PENDING = 1 << 14; // what a worker follows at a time; a power of two

    private final BenchArrivals arrivals;
    private final Pending[] pending;

    /** Messages not known to be dispatched, oldest first. When full, further ones are not followed. */
    private static final class Pending {
        final String[] topic = new String[MOST_PENDING];
        final int[] queue = new int[MOST_PENDING];
        final long[] offset = new long[MOST_PENDING]; // in the queue
        final long[] at = new long[MOST_PENDING]; // when its put began
        long head;
        long tail;
    }

    BenchFollow(BenchPlan plan, Path dir, int fileBytes) {
        super(plan, dir, fileBytes);
        arrivals = new BenchArrivals(plan.workload);
        pending = new Pending[plan.workers];
        for (int i = 0; i < pending.length; i++) {
            pending[i] = new Pending();
        }
    }

    @Override
    BenchStore open(BenchPlan plan, Path dir, int fileBytes) throws Exception {
        return BenchStore.open(plan, dir, fileBytes, arrivals);
    }

    @Override
    public void op(BenchWorker w) throws Exception {
        long start = w.now();
        long began = System.nanoTime();
        AppendMessageResult r = put(w.id);
        w.observe(APPEND, w.now() - start);
        Pending p = pending[w.id];
        if (p.tail - p.head < MOST_PENDING) {
            MessageExt message = last(w.id);
            int i = (int) (p.tail++ % MOST_PENDING);
            p.topic[i] = message.getTopic();
            p.queue[i] = message.getQueueId();
            p.offset[i] = r.getLogicsOffset();
            p.at[i] = began;
        }
        for (; p.head < p.tail; p.head++) {
            int i = (int) (p.head % MOST_PENDING);
            long at = arrivals.when(p.topic[i], p.queue[i], p.offset[i]);
            if (at == 0) {
                break;
            }
            w.observe(READABLE, at - p.at[i]);
        }
    }
}
