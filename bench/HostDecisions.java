import io.bandana.Arms;
import io.bandana.Client;
import io.bandana.Options;
import io.bandana.Store;
import java.lang.management.ManagementFactory;

/** The Java host of host_decisions.py: WARM_UP URL STORE DECISIONS. */
public final class HostDecisions {
  private static final Arms ROWS = Arms.inline(new double[] {1, 0}, new double[] {0, 1});

  private static void some(Client client, int count) {
    for (int i = 0; i < count; ++i) client.report(client.select("user", ROWS), 1.0);
  }

  private static long processorNanos() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
  }

  public static void main(String[] arguments) throws Exception {
    int decisions = Integer.parseInt(arguments[3]);
    try (Store store = Store.open(arguments[2]);
        Client client = new Client(arguments[1], "now", store, new Options())) {
      some(client, Integer.parseInt(arguments[0]));
      long wall = System.nanoTime(), processor = processorNanos();
      some(client, decisions);
      wall = System.nanoTime() - wall;
      processor = processorNanos() - processor;
      if (!client.flush(60_000)) throw new IllegalStateException("not delivered");
      System.out.println("wall_us=" + wall / 1000 / decisions + " processor_us=" + processor / 1000 / decisions);
    }
  }
}
