package commitlab;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.GetMessageResult;
import org.apache.rocketmq.store.QueryMessageResult;
import org.apache.rocketmq.store.SelectMappedBufferResult;

/**
 * Command read: opens a directory and prints everything the store answers, in a fixed order
 * and form, so that the answers of another store can be compared line by line. The Go package
 * bench/answers describes the lines. Opening recovers, so the directory changes; it is left
 * as after a kill.
 */
final class Read {
    private final DefaultMessageStore store;
    private final PrintStream out;
    /** Keys to ask for, by topic. */
    private final Map<String, TreeSet<String>> keys = new TreeMap<>();

    private Read(DefaultMessageStore store, PrintStream out) {
        this.store = store;
        this.out = out;
    }

    static int run(Arguments args) throws Exception {
        String plan = args.take("plan", null);
        Settings settings = new Settings(args, plan == null ? null : new Plan(plan).head);
        args.end();
        settings.config.setMaxMsgsNumBatch(1_000_000);
        DefaultMessageStore store = Stores.start(settings, false);
        PrintStream out = new PrintStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16), false,
            StandardCharsets.UTF_8);
        new Read(store, out).all();
        out.flush();
        return out.checkError() ? 1 : 0;
    }

    private void all() throws Exception {
        JsonObject log = line("log");
        log.addProperty("min", store.getMinPhyOffset());
        log.addProperty("end", store.getMaxPhyOffset());
        out.println(log);
        records();
        TreeMap<String, TreeSet<Integer>> queues = new TreeMap<>(Read::compareUtf8);
        for (Map.Entry<String, ? extends Map<Integer, ?>> topic : store.getConsumeQueueTable().entrySet()) {
            queues.put(topic.getKey(), new TreeSet<>(topic.getValue().keySet()));
        }
        for (Map.Entry<String, TreeSet<Integer>> topic : queues.entrySet()) {
            for (int id : topic.getValue()) {
                queue(topic.getKey(), id);
            }
        }
        for (Map.Entry<String, TreeSet<String>> topic : keys.entrySet()) {
            for (String key : topic.getValue()) {
                key(topic.getKey(), key);
            }
        }
    }

    /** Every record of the log, by its physical offset. */
    private void records() throws Exception {
        long end = store.getMaxPhyOffset();
        int fileBytes = store.getMessageStoreConfig().getMappedFileSizeCommitLog();
        for (long at = store.getMinPhyOffset(); at >= 0 && at < end; ) {
            SelectMappedBufferResult result = store.selectOneMessageByOffset(at);
            if (result == null) {
                throw new IllegalStateException("no record at offset " + at);
            }
            try {
                ByteBuffer buffer = result.getByteBuffer();
                if (buffer.remaining() < 8 || buffer.getInt(4) == BLANK_MAGIC) {
                    at = (at / fileBytes + 1) * fileBytes;
                    continue;
                }
                Record record = new Record(result);
                if (record.offset != at) {
                    throw new IllegalStateException("the record at offset " + at + " says it is at " + record.offset);
                }
                JsonObject line = line("record");
                record.describe(line);
                out.println(line);
                record.addKeys(keys);
                at += record.size;
            } finally {
                result.release();
            }
        }
    }

    private static final int BLANK_MAGIC = 0xCBD43194;

    /** A queue: its bounds, then its units with the records they lead to, then the edges. */
    private void queue(String topic, int id) throws Exception {
        long min = store.getMinOffsetInQueue(topic, id);
        long max = store.getMaxOffsetInQueue(topic, id);
        if (max == 0) {
            return; // listed or not is chance: asking for a queue creates it
        }
        JsonObject line = line("queue");
        line.addProperty("topic", topic);
        line.addProperty("queueId", id);
        line.addProperty("min", min);
        line.addProperty("max", max);
        out.println(line);
        TreeSet<Long> times = new TreeSet<>();
        for (long at = min; at < max; ) {
            GetMessageResult got = store.getMessage("reader", topic, id, at, 32, null);
            try {
                if (got.getMessageMapedList().isEmpty()) {
                    throw new IllegalStateException(topic + "/" + id + " at " + at + ": " + got.getStatus() + ", no message");
                }
                for (SelectMappedBufferResult message : got.getMessageMapedList()) {
                    Record record = new Record(message);
                    unit(topic, id, at++, record);
                    times.add(record.decoded.getStoreTimestamp());
                }
                if (got.getNextBeginOffset() != at) {
                    throw new IllegalStateException(topic + "/" + id + ": next is " + got.getNextBeginOffset() + ", want " + at);
                }
            } finally {
                got.release();
            }
        }
        for (long at : new long[] {min - 1, min, max - 1, max, max + 1}) {
            if (at >= 0) {
                edge(topic, id, at);
            }
        }
        if (Generation.BOUNDED_TIMES) {
            times(topic, id, times);
        }
    }

    private void unit(String topic, int id, long at, Record record) throws Exception {
        long[] unit = Generation.unit(store, topic, id, at);
        JsonObject line = line("message");
        line.addProperty("topic", topic);
        line.addProperty("queueId", id);
        line.addProperty("at", at);
        line.addProperty("offset", unit[0]);
        line.addProperty("size", unit[1]);
        line.addProperty("tagsCode", unit[2]);
        line.addProperty("sha256", record.sha256());
        out.println(line);
    }

    /** What a consumer is told at the ends of a queue. */
    private void edge(String topic, int id, long at) throws Exception {
        GetMessageResult got = store.getMessage("reader", topic, id, at, 1, null);
        JsonObject line = line("get");
        line.addProperty("topic", topic);
        line.addProperty("queueId", id);
        line.addProperty("at", at);
        line.addProperty("status", got.getStatus().name());
        line.addProperty("next", got.getNextBeginOffset());
        out.println(line);
        got.release();
    }

    /** Where store times lead to: around the first, a middle and the last one. */
    private void times(String topic, int id, TreeSet<Long> times) throws Exception {
        List<Long> list = new ArrayList<>(times);
        TreeSet<Long> ask = new TreeSet<>();
        for (long ms : new long[] {list.get(0), list.get(list.size() / 2), list.get(list.size() - 1)}) {
            ask.add(ms - 1);
            ask.add(ms);
            ask.add(ms + 1);
        }
        for (long ms : ask) {
            JsonObject line = line("time");
            line.addProperty("topic", topic);
            line.addProperty("queueId", id);
            line.addProperty("ms", ms);
            line.addProperty("lower", Generation.byTime(store, topic, id, ms, false));
            line.addProperty("upper", Generation.byTime(store, topic, id, ms, true));
            out.println(line);
        }
    }

    /**
     * Where a key leads to, ascending. The store compares hashes only; as its clients do,
     * what has another key is left out, and what is indexed twice counts once.
     */
    private void key(String topic, String key) throws Exception {
        QueryMessageResult result = store.queryMessage(topic, key, 1_000_000, 0, Long.MAX_VALUE);
        TreeSet<Long> offsets = new TreeSet<>();
        for (ByteBuffer buffer : result.getMessageBufferList()) {
            MessageExt message = MessageDecoder.decode(buffer.duplicate(), false, false);
            if (message.getTopic().equals(topic) && Record.keys(message).contains(key)) {
                offsets.add(message.getCommitLogOffset());
            }
        }
        result.release();
        JsonObject line = line("key");
        line.addProperty("topic", topic);
        line.addProperty("key", key);
        JsonArray list = new JsonArray();
        offsets.forEach(list::add);
        line.add("offsets", list);
        out.println(line);
    }

    private static JsonObject line(String kind) {
        JsonObject line = new JsonObject();
        line.addProperty("kind", kind);
        return line;
    }

    /** The order of the bytes, which is also that of Go's strings. */
    static int compareUtf8(String a, String b) {
        return java.util.Arrays.compareUnsigned(a.getBytes(StandardCharsets.UTF_8), b.getBytes(StandardCharsets.UTF_8));
    }

    /** A record with its bytes. */
    private static final class Record {
        final byte[] bytes;
        final MessageExt decoded;
        final long offset;
        final int size;

        Record(SelectMappedBufferResult result) {
            ByteBuffer buffer = result.getByteBuffer().duplicate();
            bytes = new byte[buffer.remaining()];
            buffer.get(bytes);
            decoded = MessageDecoder.decode(ByteBuffer.wrap(bytes), true, false);
            if (decoded == null) {
                throw new IllegalStateException("the record at offset " + result.getStartOffset() + " cannot be decoded");
            }
            offset = decoded.getCommitLogOffset();
            size = decoded.getStoreSize();
        }

        String sha256() throws Exception {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        }

        void describe(JsonObject line) throws Exception {
            line.addProperty("offset", offset);
            line.addProperty("size", size);
            line.addProperty("topic", decoded.getTopic());
            line.addProperty("queueId", decoded.getQueueId());
            line.addProperty("queueOffset", decoded.getQueueOffset());
            line.addProperty("flag", decoded.getFlag());
            line.addProperty("sysFlag", decoded.getSysFlag());
            line.addProperty("bornMs", decoded.getBornTimestamp());
            line.addProperty("bornHost", Plan.host((InetSocketAddress) decoded.getBornHost()));
            line.addProperty("storeMs", decoded.getStoreTimestamp());
            line.addProperty("storeHost", Plan.host((InetSocketAddress) decoded.getStoreHost()));
            line.addProperty("reconsumeTimes", decoded.getReconsumeTimes());
            line.addProperty("preparedOffset", decoded.getPreparedTransactionOffset());
            line.addProperty("bodyBytes", decoded.getBody() == null ? 0 : decoded.getBody().length);
            line.addProperty("bodyCrc", decoded.getBodyCRC());
            JsonObject properties = new JsonObject();
            TreeMap<String, String> sorted = new TreeMap<>(Read::compareUtf8);
            if (decoded.getProperties() != null) {
                sorted.putAll(decoded.getProperties());
            }
            sorted.forEach(properties::addProperty);
            line.add("properties", properties);
            line.addProperty("msgId", decoded.getMsgId());
            line.addProperty("sha256", sha256());
        }

        void addKeys(Map<String, TreeSet<String>> all) {
            for (String key : keys(decoded)) {
                all.computeIfAbsent(decoded.getTopic(), topic -> new TreeSet<>(Read::compareUtf8)).add(key);
            }
        }

        static TreeSet<String> keys(MessageExt message) {
            TreeSet<String> keys = new TreeSet<>();
            String unique = message.getProperty("UNIQ_KEY");
            if (unique != null) {
                keys.add(unique);
            }
            String words = message.getKeys();
            if (words != null) {
                for (String word : words.split(" ")) {
                    if (!word.isEmpty()) {
                        keys.add(word);
                    }
                }
            }
            return keys;
        }
    }
}
