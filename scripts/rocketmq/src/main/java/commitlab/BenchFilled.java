package commitlab;

import com.google.gson.JsonObject;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.store.AppendMessageResult;

/** A store with messages in it, all dispatched: what scenarios that read start from. */
abstract class BenchFilled implements BenchScenario {
    final BenchPlan plan;
    final Path dir;
    final List<Stored> put = new ArrayList<>(); // by sequence
    BenchStore store;
    private final BenchWorkload.Generator generator;

    /** Where a message is and what it is found by. */
    record Stored(long offset, long queueOffset, String topic, int queue, String key) { }

    BenchFilled(BenchPlan plan, Path dir) {
        this.plan = plan;
        this.dir = dir;
        generator = new BenchWorkload(plan.workload, true).generator(0);
    }

    /** Puts the messages of worker 0 until the byte budget is used. */
    @Override
    public void setUp() throws Exception {
        store = BenchStore.open(plan, dir, 0);
        for (long end = 0; end < plan.maxBytes; ) {
            MessageExt m = generator.next();
            AppendMessageResult r = store.put(m).getAppendMessageResult();
            end = r.getWroteOffset() + r.getWroteBytes();
            put.add(new Stored(r.getWroteOffset(), r.getLogicsOffset(), m.getTopic(), m.getQueueId(), generator.uniqueKey()));
        }
        store.awaitDispatched();
    }

    @Override
    public void verify() throws Exception {
        int step = Math.max(put.size() / 256, 1);
        for (int i = 0; i < put.size(); i += step) {
            String difference = generator.difference(i, store.store.lookMessageByOffset(put.get(i).offset()));
            if (difference != null) {
                throw new IllegalStateException("verify: " + difference);
            }
        }
    }

    @Override
    public JsonObject counters() {
        return store.counters();
    }

    @Override
    public void close() throws Exception {
        store.close();
    }
}
