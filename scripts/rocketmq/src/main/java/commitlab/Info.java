package commitlab;

import com.google.gson.JsonObject;
import java.io.PrintStream;
import org.apache.rocketmq.common.MQVersion;

/** What this peer is. */
final class Info {
    private Info() {}

    static void print(PrintStream out) {
        JsonObject line = new JsonObject();
        line.addProperty("rocketmq", MQVersion.getVersionDesc(MQVersion.CURRENT_VERSION));
        line.addProperty("generation", Generation.NAME);
        line.addProperty("java", System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"));
        out.println(line);
    }
}
