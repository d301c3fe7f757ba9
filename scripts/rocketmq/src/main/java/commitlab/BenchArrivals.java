package commitlab;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLongArray;
import org.apache.rocketmq.store.MessageArrivingListener;

/**
 * When the last messages of each queue could be found: the store says so from its dispatch
 * thread, after queue and index have them. Any thread may ask.
 */
final class BenchArrivals implements MessageArrivingListener {
    private static final int MOST_KNOWN = 1 << 14; // by queue; a power of two

    private final Map<String, Queue[]> queues = new HashMap<>(); // by topic; complete when it is made

    /** The time of queue offset n stands at n modulo the length; behind it, n + 1. */
    private static final class Queue {
        final AtomicLongArray at = new AtomicLongArray(MOST_KNOWN);
        final AtomicLongArray next = new AtomicLongArray(MOST_KNOWN);
    }

    BenchArrivals(BenchPlan.Workload workload) {
        for (int topic = 0; topic < workload.topics; topic++) {
            Queue[] all = new Queue[workload.queues];
            for (int id = 0; id < all.length; id++) {
                all[id] = new Queue();
            }
            queues.put(BenchWorkload.topic(topic), all);
        }
    }

    @Override
    public void arriving(String topic, int queueId, long next, long tagsCode, long storeTime, byte[] filter, Map<String, String> properties) {
        Queue q = queues.get(topic)[queueId];
        int i = (int) ((next - 1) % MOST_KNOWN);
        q.at.lazySet(i, System.nanoTime());
        q.next.lazySet(i, next);
    }

    /**
     * Returns when a message could be found, in the time of System.nanoTime, or 0 if it cannot
     * be found yet. For one that is no longer known it is a later time.
     */
    long when(String topic, int queueId, long offset) {
        Queue q = queues.get(topic)[queueId];
        int i = (int) (offset % MOST_KNOWN);
        return q.next.get(i) > offset ? q.at.get(i) : 0;
    }
}
