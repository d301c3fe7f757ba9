package commitlab;

import com.google.gson.JsonObject;
import org.apache.rocketmq.store.config.FlushDiskType;
import org.apache.rocketmq.store.config.MessageStoreConfig;

/**
 * How a store is configured, from the command line. Sizes are bytes, times milliseconds.
 *
 * <pre>
 * --dir                  root directory of the store
 * --commitLogFileBytes   1073741824
 * --consumeQueueFileBytes 6000000
 * --indexSlots           5000000
 * --indexItems           20000000
 * --flush                async | sync
 * --transientPool        off | on
 * --warm                 off | on, pages of a new file touched and locked
 * --reentrantLock        on | off
 * </pre>
 */
public final class Settings {
    public final String dir;
    public final MessageStoreConfig config = new MessageStoreConfig();

    /** Takes the settings out of a command line. */
    public Settings(Arguments args) {
        this(args, null);
    }

    /** With the head of a plan, the sizes of the files are what it says. */
    Settings(Arguments args, JsonObject plan) {
        dir = args.need("dir");
        config.setStorePathRootDir(dir);
        config.setStorePathCommitLog(dir + "/commitlog");
        config.setMappedFileSizeCommitLog(size(args, plan, "commitLogFileBytes", 1 << 30));
        config.setMappedFileSizeConsumeQueue(size(args, plan, "consumeQueueFileBytes", 6_000_000));
        config.setMaxHashSlotNum(size(args, plan, "indexSlots", 5_000_000));
        config.setMaxIndexNum(size(args, plan, "indexItems", 20_000_000));
        config.setFlushDiskType("sync".equals(choice(args, "flush", "async", "sync"))
            ? FlushDiskType.SYNC_FLUSH : FlushDiskType.ASYNC_FLUSH);
        config.setTransientStorePoolEnable(isOn(args, "transientPool", "off", "on"));
        config.setWarmMapedFileEnable(isOn(args, "warm", "off", "on"));
        config.setUseReentrantLockWhenPutMessage(isOn(args, "reentrantLock", "on", "off"));
        // The store opens a port for replication; 0 lets the system choose one.
        config.setHaListenPort(0);
    }

    private static int size(Arguments args, JsonObject plan, String name, int fallback) {
        return Math.toIntExact(args.takeLong(name, plan == null ? fallback : plan.get(name).getAsLong()));
    }

    private static boolean isOn(Arguments args, String name, String fallback, String other) {
        return "on".equals(choice(args, name, fallback, other));
    }

    private static String choice(Arguments args, String name, String fallback, String other) {
        String value = args.take(name, fallback);
        if (!value.equals(fallback) && !value.equals(other)) {
            throw new IllegalArgumentException("--" + name + " " + value + ", want " + fallback + " or " + other);
        }
        return value;
    }
}
