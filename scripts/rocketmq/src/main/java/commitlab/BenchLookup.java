package commitlab;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import org.apache.rocketmq.store.QueryMessageResult;

/** Finds one message by its unique key, any of those stored, and copies it. */
final class BenchLookup extends BenchFilled {
    private static final int ROOM_BYTES = 8 << 20;
    private static final int PHYSICAL_OFFSET_AT = 28; // in a record

    private final byte[][] copies;
    private final Stored[] asked; // by worker
    private final int[] hand; // by worker; keeps the reading of keys from being left out

    BenchLookup(BenchPlan plan, Path dir) {
        super(plan, dir);
        copies = new byte[plan.workers][ROOM_BYTES];
        asked = new Stored[plan.workers];
        hand = new int[plan.workers];
    }

    /**
     * Chooses a message at random and reads its key: whoever asks a store has just got the key
     * from somewhere, and the store does not wait for the memory of the generator.
     */
    @Override
    public void prepare(BenchWorker w) {
        Stored wanted = put.get(w.random.nextInt(put.size()));
        int sum = 0;
        for (int i = 0; i < wanted.key().length(); i++) {
            sum ^= wanted.key().charAt(i);
        }
        for (int i = 0; i < wanted.topic().length(); i++) {
            sum ^= wanted.topic().charAt(i);
        }
        hand[w.id] ^= sum;
        asked[w.id] = wanted;
    }

    @Override
    public void op(BenchWorker w) {
        Stored wanted = asked[w.id];
        // The store's index compares hashes only: where two keys share one, the first
        // answer can be another message, and who asks has to ask for more.
        if (!finds(wanted, 1, copies[w.id]) && !finds(wanted, 64, copies[w.id])) {
            throw new IllegalStateException("key " + wanted.key() + " did not lead to offset " + wanted.offset());
        }
    }

    private boolean finds(Stored wanted, int most, byte[] copy) {
        QueryMessageResult r = store.store.queryMessage(wanted.topic(), wanted.key(), most, 0, Long.MAX_VALUE);
        try {
            for (ByteBuffer found : r.getMessageBufferList()) {
                found.get(0, copy, 0, found.limit());
                if (found.getLong(PHYSICAL_OFFSET_AT) == wanted.offset()) {
                    return true;
                }
            }
            return false;
        } finally {
            r.release();
        }
    }
}
