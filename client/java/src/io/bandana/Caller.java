package io.bandana;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.URL;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocketFactory;

/** Makes calls, one POST each, on threads that do not keep the process. */
final class Caller {
  static final int NO_ANSWER = 0, TIMED_OUT = -1;
  private static final long READY_PAUSE_MS = 50;

  static final class Call {
    long id;
    String path;
    List<String[]> headers = new ArrayList<>();
    byte[] body;
    long deadlineMs;
    boolean waitForReady;
    boolean keepConnection;
  }

  static final class Answer {
    int status;
    List<String[]> headers = new ArrayList<>();
    byte[] body = new byte[0];
  }

  interface Done {
    void answered(long call, Answer answer);
  }

  /** A server as a client reaches it. */
  static final class Target {
    final String url;
    final Supplier<String> token;
    final SSLSocketFactory tls;

    Target(String url, Supplier<String> token, SSLSocketFactory tls) {
      URI uri;
      try {
        uri = URI.create(url);
      } catch (IllegalArgumentException why) {
        uri = URI.create("");
      }
      boolean plain = "http".equals(uri.getScheme());
      boolean named = uri.getHost() != null && (uri.getPath().isEmpty() || uri.getPath().equals("/"));
      if (!(plain || "https".equals(uri.getScheme())) || !named || uri.getQuery() != null || uri.getUserInfo() != null) {
        throw invalid("url: must be http://host:port or https://host:port, got " + url);
      }
      String host = uri.getHost();
      boolean here = host.equals("127.0.0.1") || host.equals("localhost") || host.equals("[::1]");
      if (token != null && plain && !here) {
        throw invalid("token: is not sent over plaintext to another machine: use https");
      }
      this.url = url.endsWith("/") ? url.substring(0, url.length() - 1) : url;
      this.token = token;
      this.tls = tls;
    }

    private static BandanaException invalid(String message) {
      return new BandanaException(BandanaException.Status.INVALID_ARGUMENT, message);
    }
  }

  private final Map<String, String> distrusted = new ConcurrentHashMap<>(); // by url

  /** Why servers are not believed to be those that they should be; empty: all are. */
  String distrust() {
    return String.join("; ", distrusted.values());
  }

  private final ExecutorService threads =
      Executors.newCachedThreadPool(
          task -> {
            Thread thread = new Thread(task, "bandana-call");
            thread.setDaemon(true);
            return thread;
          });

  void make(Call call, Target target, Done done) {
    threads.execute(
        () -> {
          Answer answer;
          try {
            answer = attempt(call, target);
          } catch (Throwable why) { // whatever a token's supplier does, the call is answered
            answer = new Answer();
          }
          done.answered(call.id, answer);
        });
  }

  void stop() {
    threads.shutdownNow();
  }

  private Answer attempt(Call call, Target target) throws InterruptedException {
    long end = System.nanoTime() + call.deadlineMs * 1_000_000;
    while (true) {
      long left = Math.max(1, (end - System.nanoTime()) / 1_000_000);
      try {
        Answer answer = post(call, target, (int) Math.min(left, Integer.MAX_VALUE));
        distrusted.remove(target.url);
        return answer;
      } catch (java.net.ConnectException why) {
        if (!call.waitForReady || left <= READY_PAUSE_MS) break;
        Thread.sleep(READY_PAUSE_MS);
      } catch (SocketTimeoutException why) {
        break;
      } catch (SSLException why) {
        distrusted.put(target.url, "tls: " + target.url + ": " + why.getMessage());
        break;
      } catch (IOException why) {
        break;
      }
    }
    Answer none = new Answer();
    none.status = System.nanoTime() >= end ? TIMED_OUT : NO_ANSWER;
    return none;
  }

  private static Answer post(Call call, Target target, int milliseconds) throws IOException {
    HttpURLConnection connection = (HttpURLConnection) new URL(target.url + call.path).openConnection();
    if (target.tls != null && connection instanceof HttpsURLConnection) ((HttpsURLConnection) connection).setSSLSocketFactory(target.tls);
    connection.setConnectTimeout(milliseconds);
    connection.setReadTimeout(milliseconds);
    connection.setRequestMethod("POST");
    connection.setDoOutput(true);
    connection.setInstanceFollowRedirects(false);
    connection.setFixedLengthStreamingMode(call.body.length); // no silent second attempt
    for (String[] header : call.headers) connection.setRequestProperty(header[0], header[1]);
    if (!call.keepConnection) connection.setRequestProperty("Connection", "close");
    String token = target.token == null ? null : target.token.get();
    if (token != null && !token.isEmpty()) connection.setRequestProperty("Authorization", "Bearer " + token);
    try (OutputStream out = connection.getOutputStream()) {
      out.write(call.body);
    }
    Answer answer = new Answer();
    answer.status = connection.getResponseCode();
    for (Map.Entry<String, List<String>> header : connection.getHeaderFields().entrySet()) {
      if (header.getKey() == null) continue;
      for (String value : header.getValue()) answer.headers.add(new String[] {header.getKey(), value});
    }
    try (InputStream in = answer.status < 400 ? connection.getInputStream() : connection.getErrorStream()) {
      if (in != null) answer.body = in.readAllBytes();
    }
    if (!call.keepConnection) connection.disconnect();
    return answer;
  }
}
