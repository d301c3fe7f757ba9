package commitlab;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.store.GetMessageResult;
import org.apache.rocketmq.store.GetMessageStatus;

/** Reads up to 32 neighbouring messages of a queue from a random offset on. */
final class BenchGet extends BenchFilled {
    private static final int MESSAGES = 32;

    private final List<Queue> queues = new ArrayList<>();

    private record Queue(String topic, int id, long messages) { }

    BenchGet(BenchPlan plan, Path dir) {
        super(plan, dir);
    }

    @Override
    public void setUp() throws Exception {
        super.setUp();
        Map<List<Object>, Queue> all = new LinkedHashMap<>();
        for (Stored m : put) {
            all.put(List.of(m.topic(), m.queue()), new Queue(m.topic(), m.queue(), m.queueOffset() + 1));
        }
        queues.addAll(all.values());
    }

    @Override
    public void op(BenchWorker w) {
        Queue q = queues.get(w.random.nextInt(queues.size()));
        long from = w.random.nextLong(q.messages());
        GetMessageResult r = store.store.getMessage("bench", q.topic(), q.id(), from, MESSAGES, null);
        try {
            if (r.getStatus() != GetMessageStatus.FOUND) {
                throw new IllegalStateException("get " + q + " from " + from + ": " + r.getStatus());
            }
        } finally {
            r.release();
        }
    }
}
