package commitlab;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * What is put: the messages of bench/workload, byte for byte, each a function of seed,
 * worker and sequence. The picture of a body is there. Immutable; a {@link Generator}
 * belongs to one worker.
 */
final class BenchWorkload {
    private static final int HEAD_BYTES = 24;
    private static final int STAMPED_BYTES = HEAD_BYTES + 8;
    private static final char NAME_END = 1;
    private static final char VALUE_END = 2;
    private static final InetSocketAddress BORN_HOST = new InetSocketAddress("127.0.0.1", 54321);
    private static final InetSocketAddress STORE_HOST = new InetSocketAddress("127.0.0.1", 10911);
    private static final long BORN_MS = 1_700_000_000_000L;

    private final long seed;
    private final BenchPlan.Workload spec;
    private final boolean uniqueKeys;
    private final String[] topics;
    private final long[][] sizes; // low, high, weight
    private final long weights;
    private final byte[] filler;

    /** Messages have a unique key if the workload says so or the scenario needs one. */
    BenchWorkload(BenchPlan.Workload spec, boolean needsUniqueKeys) {
        this.spec = spec;
        seed = spec.seed.longValue();
        uniqueKeys = spec.uniqueKeys || needsUniqueKeys;
        topics = new String[spec.topics];
        for (int i = 0; i < topics.length; i++) {
            topics[i] = topic(i);
        }
        sizes = parseSizes(spec.body);
        weights = Arrays.stream(sizes).mapToLong(s -> s[2]).sum();
        int longest = (int) Arrays.stream(sizes).mapToLong(s -> s[1]).max().getAsLong();
        filler = new byte[Math.max(longest, HEAD_BYTES)];
        long state = seed;
        for (int i = 0; i < filler.length; i++) {
            if (i % 8 == 0) {
                state = mix(state + 1);
            }
            filler[i] = (byte) (state >>> i % 8 * 8);
        }
    }

    static String topic(int number) {
        return "topic-" + number;
    }

    /** Reads the notation of workload.Sizes as it is written, with plain numbers: 128x6,1024-4096x3,65536. */
    private static long[][] parseSizes(String text) {
        String[] parts = text.split(",");
        long[][] sizes = new long[parts.length][];
        for (int i = 0; i < parts.length; i++) {
            String[] weighted = parts[i].split("x");
            String[] span = weighted[0].split("-");
            long low = Long.parseLong(span[0]);
            sizes[i] = new long[] {
                low, span.length > 1 ? Long.parseLong(span[1]) : low, weighted.length > 1 ? Long.parseLong(weighted[1]) : 1};
        }
        return sizes;
    }

    /** The finaliser of SplitMix64. */
    private static long mix(long x) {
        x ^= x >>> 30;
        x *= 0xbf58476d1ce4e5b9L;
        x ^= x >>> 27;
        x *= 0x94d049bb133111ebL;
        return x ^ x >>> 31;
    }

    /** Scales 32 random bits to [0, n). */
    private static long below(long bits32, long n) {
        return bits32 * n >>> 32;
    }

    /** Scales 64 random bits to [0, n), n below 2^63. */
    private static long scaled(long bits, long n) {
        return Math.multiplyHigh(bits, n) + (bits >> 63 & n);
    }

    private static final char[] DIGITS = "0123456789ABCDEF".toCharArray();

    private static String hex(long high, long low) {
        char[] text = new char[32];
        for (int i = 0; i < 16; i++) {
            text[i] = DIGITS[(int) (high >>> 60 - 4 * i) & 15];
            text[16 + i] = DIGITS[(int) (low >>> 60 - 4 * i) & 15];
        }
        return new String(text);
    }

    private int size(long bits) {
        long[] range = sizes[0];
        if (sizes.length > 1) {
            long pick = below(bits >>> 32, weights);
            int i = 0;
            for (; pick >= sizes[i][2]; i++) {
                pick -= sizes[i][2];
            }
            range = sizes[i];
        }
        return (int) (range[0] + (range[0] == range[1] ? 0 : below(bits & 0xffffffffL, range[1] - range[0] + 1)));
    }

    Generator generator(int worker) {
        return new Generator(worker);
    }

    /** Makes the messages of one worker. */
    final class Generator {
        private final int worker;
        private final long stream;
        private final StringBuilder properties = new StringBuilder();
        private byte[] body = new byte[0];
        private long sequence;
        private String uniqueKey;

        private Generator(int worker) {
            this.worker = worker;
            stream = mix(seed ^ worker * 0x9e3779b97f4a7c15L);
        }

        /** Number of the message that {@link #next} will make. */
        long sequence() {
            return sequence;
        }

        /** The next message. Its body is used again for the message after it: the store copies it. */
        MessageExt next() {
            return at(sequence++);
        }

        /** The unique key of the last message; null without. */
        String uniqueKey() {
            return uniqueKey;
        }

        MessageExt at(long number) {
            long hash = mix(stream + number);
            int topic = 0;
            int queue = 0;
            long pairs = (long) spec.topics * spec.queues;
            if (pairs > 1) {
                int pair = (int) below(mix(hash ^ 1) >>> 32, pairs);
                topic = pair / spec.queues;
                queue = pair % spec.queues;
            }
            String encoded = properties(hash);
            MessageExt message = Generation.message(encoded);
            // The store is given both forms, as a broker gives them.
            MessageAccessor.setProperties(message, encoded == null ? new HashMap<>() : MessageDecoder.string2messageProperties(encoded));
            message.setTopic(topics[topic]);
            message.setQueueId(queue);
            message.setBody(body(size(hash), number, hash));
            message.setBornTimestamp(BORN_MS);
            message.setBornHost(BORN_HOST);
            message.setStoreHost(STORE_HOST);
            return message;
        }

        private byte[] body(int size, long number, long hash) {
            byte[] head = size < HEAD_BYTES ? new byte[HEAD_BYTES] : body;
            if (size >= HEAD_BYTES && body.length != size) {
                head = body = Arrays.copyOf(filler, size);
            }
            ByteBuffer b = ByteBuffer.wrap(head);
            b.putLong(0, seed).putInt(8, worker).putInt(12, size).putLong(16, number);
            if (size >= STAMPED_BYTES) {
                b.putLong(size - 8, hash);
            }
            return size < HEAD_BYTES ? Arrays.copyOf(head, size) : head;
        }

        private String properties(long hash) {
            properties.setLength(0);
            if (uniqueKeys) {
                uniqueKey = hex(hash, mix(hash ^ 0xff));
                property("UNIQ_KEY").append(uniqueKey).append(VALUE_END);
            }
            if (spec.keys > 0) {
                property("KEYS");
                for (int i = 0; i < spec.keysPerMessage; i++) {
                    properties.append(i > 0 ? " key-" : "key-").append(scaled(mix(hash ^ i + 3), spec.keys));
                }
                properties.append(VALUE_END);
            }
            if (spec.tags > 0) {
                property("TAGS").append("tag-").append(spec.tags > 1 ? below(mix(hash ^ 2) >>> 32, spec.tags) : 0).append(VALUE_END);
            }
            return properties.length() == 0 ? null : properties.toString();
        }

        private StringBuilder property(String name) {
            return properties.append(name).append(NAME_END);
        }

        /** Says how a message that was read differs from message number of this worker; null if it does not. */
        String difference(long number, MessageExt got) {
            MessageExt want = at(number);
            if (got == null) {
                return "message " + number + " of worker " + worker + " is not there";
            }
            if (!want.getTopic().equals(got.getTopic()) || want.getQueueId() != got.getQueueId()
                || !Arrays.equals(want.getBody(), got.getBody())) {
                return "message " + number + " of worker " + worker + " is not what was put";
            }
            return null;
        }
    }
}
