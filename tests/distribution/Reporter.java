import io.bandana.Arms;
import io.bandana.Client;
import io.bandana.Options;
import io.bandana.Policy;
import io.bandana.Selection;
import io.bandana.Store;

/** As reporter.cc, by the jar: URL MODEL STORE DECISIONS REWARD. */
public final class Reporter {
  public static void main(String[] arguments) throws Exception {
    double[][] rows = new double[16][];
    for (int i = 0; i < rows.length; ++i) rows[i] = new double[] {Math.cos(i), Math.sin(i)};
    try (Store store = Store.open(arguments[2]);
        Client client = new Client(arguments[0], arguments[1], store, new Options().policy(new Policy().epsilonMax(20)))) {
      for (int i = 0; i < Integer.parseInt(arguments[3]); ++i) {
        for (Selection slot : client.selectSlots("user", Arms.inline(rows), rows.length)) {
          client.report(slot, Double.parseDouble(arguments[4]));
        }
      }
      while (client.stats().reportsPending > 0) Thread.sleep(50);
      System.out.println(client.stats().reportsApplied + " " + client.stats().reportsDefaulted);
    }
  }
}
