package commitlab;

import com.google.gson.JsonObject;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.Map;
import org.apache.rocketmq.common.ServiceThread;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.MessageArrivingListener;
import org.apache.rocketmq.store.PutMessageResult;
import org.apache.rocketmq.store.config.MessageStoreConfig;

/**
 * A store as a plan wants it, and what its API has no call for. That is reached by
 * reflection: stopping the dispatch thread, and asking whether the next file is prepared.
 */
final class BenchStore {
    private static final int FIRST_PUTS = 12;
    private static final MessageArrivingListener UNHEARD = (topic, queue, offset, tags, time, map, properties) -> { };

    final DefaultMessageStore store;
    private final boolean dispatches;
    private final Object dispatcher; // the store's reput service

    private BenchStore(DefaultMessageStore store, boolean dispatches) throws ReflectiveOperationException {
        this.store = store;
        this.dispatches = dispatches;
        dispatcher = field(DefaultMessageStore.class, "reputMessageService").get(store);
    }

    /** Opens and starts the store in dir; fileBytes over 0 is the size of its commit log files. */
    static BenchStore open(BenchPlan plan, Path dir, int fileBytes) throws Exception {
        return open(plan, dir, fileBytes, UNHEARD);
    }

    /** The same; arrivals hears of each message that was dispatched. */
    static BenchStore open(BenchPlan plan, Path dir, int fileBytes, MessageArrivingListener arrivals) throws Exception {
        BenchStore s = load(plan, dir, fileBytes, arrivals);
        s.store.start();
        if (!s.dispatches) {
            ((ServiceThread) s.dispatcher).shutdown();
        }
        return s;
    }

    /** Opens it, and leaves the start to the caller. */
    static BenchStore load(BenchPlan plan, Path dir, int fileBytes) throws Exception {
        return load(plan, dir, fileBytes, UNHEARD);
    }

    private static BenchStore load(BenchPlan plan, Path dir, int fileBytes, MessageArrivingListener arrivals) throws Exception {
        MessageStoreConfig config = new MessageStoreConfig();
        config.setStorePathRootDir(dir.toString());
        config.setStorePathCommitLog(dir.resolve("commitlog").toString());
        config.setHaListenPort(0); // any port
        set(config, "flushDiskType", plan.flush.equals("sync") ? "SYNC_FLUSH" : "ASYNC_FLUSH");
        for (Map.Entry<String, String> setting : plan.store.entrySet()) {
            set(config, setting.getKey(), setting.getValue());
        }
        if (fileBytes > 0) {
            config.setMappedFileSizeCommitLog(fileBytes);
        }
        DefaultMessageStore store = Generation.open(config, arrivals);
        if (!store.load()) {
            throw new IllegalStateException("the store in " + dir + " did not load");
        }
        return new BenchStore(store, plan.dispatches());
    }

    private static void set(MessageStoreConfig config, String key, String value) throws ReflectiveOperationException {
        String setter = "set" + Character.toUpperCase(key.charAt(0)) + key.substring(1);
        for (Method m : MessageStoreConfig.class.getMethods()) {
            if (!m.getName().equals(setter) || m.getParameterCount() != 1) {
                continue;
            }
            Object parsed = parse(m.getParameterTypes()[0], key, value);
            if (parsed != null) {
                try {
                    m.invoke(config, parsed);
                } catch (InvocationTargetException e) {
                    throw new IllegalArgumentException("setting " + key + "=" + value + ": " + e.getCause().getMessage());
                }
                return;
            }
        }
        throw new IllegalArgumentException("setting " + key + ": this version of the store has none of that name");
    }

    /** Null for a type that has no text. */
    private static Object parse(Class<?> type, String key, String value) {
        try {
            if (type == int.class) {
                return Integer.valueOf(value);
            } else if (type == long.class) {
                return Long.valueOf(value);
            } else if (type == double.class) {
                return Double.valueOf(value);
            } else if (type == boolean.class && (value.equals("true") || value.equals("false"))) {
                return Boolean.valueOf(value);
            } else if (type == String.class) {
                return value;
            }
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("setting " + key + "=" + value + ": want a number");
        }
        if (type == boolean.class) {
            throw new IllegalArgumentException("setting " + key + "=" + value + ": want true or false");
        }
        return null;
    }

    private static Field field(Class<?> of, String name) throws ReflectiveOperationException {
        Field f = of.getDeclaredField(name);
        f.setAccessible(true);
        return f;
    }

    /** Puts a message; anything but the store's OK is an exception. */
    PutMessageResult put(MessageExt message) {
        PutMessageResult r = Generation.put(store, message);
        if (!r.isOk()) {
            throw new IllegalStateException("put: " + r.getPutMessageStatus());
        }
        return r;
    }

    /** A put that may come too early. */
    interface FirstPut {
        void put() throws BenchScenario.End;
    }

    /**
     * Puts until the store has made its first file: it gives each put five seconds for that,
     * which a warmed file of 1 GiB can take longer than.
     */
    void awaitWritable(FirstPut first) throws BenchScenario.End {
        for (int tries = 1;; tries++) {
            try {
                first.put();
                return;
            } catch (IllegalStateException e) {
                if (tries == FIRST_PUTS) {
                    throw e;
                }
            }
        }
    }

    /** Waits until the file after the current one is there, warmed where that is set. */
    void awaitPrepared() throws Exception {
        Object allocator = store.getAllocateMappedFileService();
        Map<?, ?> requests = (Map<?, ?>) field(allocator.getClass(), "requestTable").get(allocator);
        for (boolean ready = false; !ready; Thread.sleep(1)) {
            ready = !requests.isEmpty();
            for (Object request : requests.values()) {
                ready &= field(request.getClass(), "mappedFile").get(request) != null;
            }
        }
    }

    /** Waits until everything that was put is dispatched. */
    void awaitDispatched() throws InterruptedException {
        while (store.dispatchBehindBytes() > 0) {
            Thread.sleep(1);
        }
    }

    JsonObject counters() {
        JsonObject log = new JsonObject();
        log.addProperty("minOffset", store.getMinPhyOffset());
        log.addProperty("appendedOffset", store.getMaxPhyOffset());
        JsonObject jvm = new JsonObject();
        long collections = 0;
        long milliseconds = 0;
        for (GarbageCollectorMXBean gc : ManagementFactory.getGarbageCollectorMXBeans()) {
            collections += gc.getCollectionCount();
            milliseconds += gc.getCollectionTime();
        }
        jvm.addProperty("collections", collections);
        jvm.addProperty("collectionMs", milliseconds);
        jvm.addProperty("heapUsedBytes", Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory());
        JsonObject all = new JsonObject();
        all.add("commitLog", log);
        if (dispatches) {
            all.addProperty("dispatchBehindBytes", store.dispatchBehindBytes());
        }
        all.add("jvm", jvm);
        return all;
    }

    void close() throws Exception {
        if (!dispatches) {
            // Or the store waits five seconds for a dispatch that nobody does.
            Method skip = dispatcher.getClass().getDeclaredMethod("setReputFromOffset", long.class);
            skip.setAccessible(true);
            skip.invoke(dispatcher, store.getMaxPhyOffset());
        }
        store.shutdown();
    }
}
