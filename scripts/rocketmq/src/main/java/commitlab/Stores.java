package commitlab;

import org.apache.rocketmq.store.DefaultMessageStore;

/** The life of a store. */
final class Stores {
    private Stores() {}

    /** Loads, recovers and starts a store; returns once everything in the log is dispatched. */
    static DefaultMessageStore start(Settings settings) throws Exception {
        return start(settings, true);
    }

    /** Likewise; without deliver no delayed message is delivered, which 4.9 does too early after a kill. */
    static DefaultMessageStore start(Settings settings, boolean deliver) throws Exception {
        DefaultMessageStore store = Generation.open(settings.config, (topic, queueId, offset, tags, time, filter, properties) -> { });
        if (!store.load()) {
            throw new IllegalStateException(settings.dir + ": the store does not load");
        }
        store.start();
        if (!deliver) {
            Generation.stopDelivery(store);
        }
        awaitDispatch(store);
        return store;
    }

    static void awaitDispatch(DefaultMessageStore store) throws InterruptedException {
        for (long deadline = System.nanoTime() + 60_000_000_000L; store.dispatchBehindBytes() > 0; Thread.sleep(1)) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException(store.dispatchBehindBytes() + " bytes are not dispatched after a minute");
            }
        }
    }

    /** Closes a store in order. */
    static void shutdown(DefaultMessageStore store) throws InterruptedException {
        awaitDispatch(store);
        store.shutdown();
    }
}
