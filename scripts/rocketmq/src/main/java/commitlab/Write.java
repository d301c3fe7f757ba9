package commitlab;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.util.List;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageExtBatch;
import org.apache.rocketmq.store.AppendMessageResult;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.PutMessageResult;

/**
 * Commands write and append: puts the operations of a plan and prints one line for each:
 *
 * <pre>
 * {"kind":"put","n":7,"status":"PUT_OK","offset":1040,"bytes":130,"queueOffset":3,"messages":1}
 * </pre>
 *
 * With {@code --end kill} the process sends SIGKILL to itself after the last put, while the
 * store's own threads still flush and dispatch; otherwise it shuts the store down.
 */
final class Write {
    private Write() {}

    static int run(Arguments args, boolean fresh) throws Exception {
        Plan plan = new Plan(args.need("plan"));
        Settings settings = new Settings(args, plan.head);
        boolean kill = args.take("end", "close").equals("kill");
        args.end();
        if (fresh && new java.io.File(settings.dir, "commitlog").exists()) {
            throw new IllegalArgumentException(settings.dir + " holds a store already; append goes on with it");
        }
        DefaultMessageStore store = Stores.start(settings);
        boolean all = true;
        for (Plan.Operation operation : plan.operations) {
            PutMessageResult result = operation.batch ? putBatch(store, operation.messages) : put(store, operation.messages.get(0));
            print(operation, result);
            all &= result.isOk();
        }
        System.out.flush();
        if (kill) {
            kill();
        }
        Stores.shutdown(store);
        return all ? 0 : 1;
    }

    private static PutMessageResult put(DefaultMessageStore store, Plan.Content content) {
        MessageExt message = Generation.message(content.properties);
        fill(message, content);
        message.setBody(content.body);
        message.setFlag(content.flag);
        MessageAccessor.setProperties(message, MessageDecoder.string2messageProperties(content.properties));
        Generation.delay(message);
        return Generation.put(store, message);
    }

    private static PutMessageResult putBatch(DefaultMessageStore store, List<Plan.Content> messages) {
        MessageExtBatch batch = new MessageExtBatch();
        fill(batch, messages.get(0));
        batch.setBody(Plan.batchBody(messages));
        return store.putMessages(batch);
    }

    private static void fill(MessageExt message, Plan.Content content) {
        message.setTopic(content.topic);
        message.setQueueId(content.queue);
        message.setSysFlag(content.sysFlag);
        message.setBornTimestamp(content.bornMs);
        message.setBornHost(content.bornHost);
        message.setStoreHost(content.storeHost);
        message.setReconsumeTimes(content.reconsumeTimes);
        message.setPreparedTransactionOffset(content.preparedOffset);
    }

    private static void print(Plan.Operation operation, PutMessageResult result) {
        JsonObject line = new JsonObject();
        line.addProperty("kind", "put");
        line.addProperty("n", operation.number);
        line.addProperty("status", result.getPutMessageStatus().name());
        AppendMessageResult append = result.getAppendMessageResult();
        if (append != null) {
            line.addProperty("offset", append.getWroteOffset());
            line.addProperty("bytes", append.getWroteBytes());
            line.addProperty("queueOffset", append.getLogicsOffset());
            line.addProperty("messages", append.getMsgNum());
        }
        System.out.println(line);
    }

    private static void kill() throws IOException, InterruptedException {
        new ProcessBuilder("kill", "-KILL", Long.toString(ProcessHandle.current().pid())).start();
        Thread.sleep(60_000);
        throw new IOException("still alive a minute after SIGKILL");
    }
}
