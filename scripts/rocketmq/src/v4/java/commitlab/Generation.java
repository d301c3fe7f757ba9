package commitlab;

import java.nio.ByteBuffer;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.MessageArrivingListener;
import org.apache.rocketmq.store.MessageExtBrokerInner;
import org.apache.rocketmq.store.PutMessageResult;
import org.apache.rocketmq.store.SelectMappedBufferResult;
import org.apache.rocketmq.store.config.BrokerRole;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/** What the API of 4.x calls otherwise than that of 5.x. */
final class Generation {
    static final String NAME = "v4";

    private Generation() {}

    /** Makes a store; load and start are the caller's. */
    static DefaultMessageStore open(MessageStoreConfig config, MessageArrivingListener listener) throws Exception {
        return new DefaultMessageStore(config, new BrokerStatsManager("peer", false), listener, new BrokerConfig());
    }

    /** A message as the store takes it; properties is their encoded form. */
    static MessageExt message(String properties) {
        MessageExtBrokerInner message = new MessageExtBrokerInner();
        message.setPropertiesString(properties);
        return message;
    }

    /** Puts what {@link #message} made. */
    static PutMessageResult put(DefaultMessageStore store, MessageExt message) {
        return store.putMessage((MessageExtBrokerInner) message);
    }

    /** Delayed messages are the store's business. */
    static void delay(MessageExt message) {}

    /** Keeps a started store from delivering delayed messages, the first of which would be due a second later. */
    static void stopDelivery(DefaultMessageStore store) {
        store.handleScheduleMessageService(BrokerRole.SLAVE);
    }

    /** Offset, size and tags code of a unit. */
    static long[] unit(DefaultMessageStore store, String topic, int queueId, long at) {
        SelectMappedBufferResult unit = store.findConsumeQueue(topic, queueId).getIndexBuffer(at);
        try {
            ByteBuffer buffer = unit.getByteBuffer();
            return new long[] {buffer.getLong(), buffer.getInt(), buffer.getLong()};
        } finally {
            unit.release();
        }
    }

    /** Whether a search by time can be told which of its two neighbours to take. */
    static final boolean BOUNDED_TIMES = false;

    static long byTime(DefaultMessageStore store, String topic, int queueId, long ms, boolean upper) {
        throw new UnsupportedOperationException("4.x has no bounds");
    }
}
