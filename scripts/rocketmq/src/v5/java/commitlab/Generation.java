package commitlab;

import org.apache.rocketmq.common.BoundaryType;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageExtBrokerInner;
import org.apache.rocketmq.common.sysflag.MessageSysFlag;
import org.apache.rocketmq.common.topic.TopicValidator;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.MessageArrivingListener;
import org.apache.rocketmq.store.PutMessageResult;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.queue.CqUnit;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/** What the API of 5.x calls otherwise than that of 4.x. */
final class Generation {
    static final String NAME = "v5";

    private Generation() {}

    /** Makes a store; load and start are the caller's. */
    static DefaultMessageStore open(MessageStoreConfig config, MessageArrivingListener listener) throws Exception {
        return new DefaultMessageStore(config, new BrokerStatsManager("peer", false), listener, new BrokerConfig(),
            new java.util.concurrent.ConcurrentHashMap<>());
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

    /** Sends a delayed message to the queue of its level, as the broker does before it calls the store. */
    static void delay(MessageExt message) {
        int transaction = MessageSysFlag.getTransactionValue(message.getSysFlag());
        boolean ends = transaction == MessageSysFlag.TRANSACTION_NOT_TYPE || transaction == MessageSysFlag.TRANSACTION_COMMIT_TYPE;
        if (!ends || message.getDelayTimeLevel() <= 0) {
            return;
        }
        message.setDelayTimeLevel(Math.min(message.getDelayTimeLevel(), 18));
        MessageAccessor.putProperty(message, MessageConst.PROPERTY_REAL_TOPIC, message.getTopic());
        MessageAccessor.putProperty(message, MessageConst.PROPERTY_REAL_QUEUE_ID, String.valueOf(message.getQueueId()));
        ((MessageExtBrokerInner) message).setPropertiesString(MessageDecoder.messageProperties2String(message.getProperties()));
        message.setTopic(TopicValidator.RMQ_SYS_SCHEDULE_TOPIC);
        message.setQueueId(message.getDelayTimeLevel() - 1);
    }

    /** Delivery of delayed messages is the broker's business. */
    static void stopDelivery(DefaultMessageStore store) {}

    /** Offset, size and tags code of a unit. */
    static long[] unit(DefaultMessageStore store, String topic, int queueId, long at) {
        CqUnit unit = store.findConsumeQueue(topic, queueId).get(at);
        return new long[] {unit.getPos(), unit.getSize(), unit.getTagsCode()};
    }

    /** Whether a search by time can be told which of its two neighbours to take. */
    static final boolean BOUNDED_TIMES = true;

    static long byTime(DefaultMessageStore store, String topic, int queueId, long ms, boolean upper) {
        return store.getOffsetInQueueByTime(topic, queueId, ms, upper ? BoundaryType.UPPER : BoundaryType.LOWER);
    }
}
