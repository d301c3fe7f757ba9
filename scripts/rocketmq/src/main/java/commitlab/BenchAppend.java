package commitlab;

import com.google.gson.JsonObject;
import java.nio.file.Path;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.store.AppendMessageResult;

/** Puts messages: append and append_sync, and with dispatch timed the scenario dispatch. */
class BenchAppend implements BenchScenario {
    private static final long READABLE_WITHIN_MS = 5_000;

    private final BenchPlan plan;
    private final Path dir;
    private final int fileBytes;
    private final Writer[] writers;
    BenchStore store;

    /** What belongs to one worker. */
    private static final class Writer {
        final BenchWorkload.Generator generator;
        final BenchSample sample = new BenchSample();
        MessageExt last; // what was put last
        boolean full; // the last put reached the end of the byte budget

        Writer(BenchWorkload.Generator generator) {
            this.generator = generator;
        }
    }

    BenchAppend(BenchPlan plan, Path dir, int fileBytes) {
        this.plan = plan;
        this.dir = dir;
        this.fileBytes = fileBytes;
        BenchWorkload workload = new BenchWorkload(plan.workload, false);
        writers = new Writer[plan.workers];
        for (int id = 0; id < writers.length; id++) {
            writers[id] = new Writer(workload.generator(id));
        }
    }

    /** Puts one message, which makes the first file, and waits until the file after it is prepared. */
    @Override
    public void setUp() throws Exception {
        store = open(plan, dir, fileBytes);
        store.awaitWritable(() -> put(writers[0]));
        store.awaitPrepared();
    }

    @Override
    public void op(BenchWorker w) throws Exception {
        w.offset = put(writers[w.id]).getWroteOffset();
    }

    BenchStore open(BenchPlan plan, Path dir, int fileBytes) throws Exception {
        return BenchStore.open(plan, dir, fileBytes);
    }

    final AppendMessageResult put(int worker) throws End {
        return put(writers[worker]);
    }

    /** The message that a worker put last. */
    final MessageExt last(int worker) {
        return writers[worker].last;
    }

    private AppendMessageResult put(Writer w) throws End {
        if (w.full && endsWhenFull()) {
            throw new End("byte budget used");
        }
        long sequence = w.generator.sequence();
        w.last = w.generator.next();
        AppendMessageResult r = store.put(w.last).getAppendMessageResult();
        w.sample.offer(sequence, r.getWroteOffset(), r.getLogicsOffset());
        w.full = r.getWroteOffset() + r.getWroteBytes() >= plan.maxBytes;
        return r;
    }

    /** Whether a run ends when the byte budget is used. */
    boolean endsWhenFull() {
        return true;
    }

    @Override
    public void verify() throws Exception {
        for (Writer w : writers) {
            for (long[] p : w.sample.kept()) {
                if (p[1] < store.store.getMinPhyOffset()) {
                    continue; // deleted since
                }
                MessageExt got = read(p[1]);
                String difference = w.generator.difference(p[0], got);
                if (difference == null && got.getQueueOffset() != p[2]) {
                    difference = "queue offset is " + got.getQueueOffset() + ", want " + p[2];
                }
                if (difference != null) {
                    throw new IllegalStateException("verify at offset " + p[1] + ": " + difference);
                }
            }
        }
    }

    /** With a transient pool a message cannot be read until it was committed. */
    private MessageExt read(long offset) throws InterruptedException {
        for (long waited = 0;; waited++) {
            MessageExt got = store.store.lookMessageByOffset(offset);
            if (got != null || waited == READABLE_WITHIN_MS) {
                return got;
            }
            Thread.sleep(1);
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
