import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;

class Client {
  public static void main(String[] args) throws InterruptedException {
    for (int i = 0; i + 2 < args.length; i += 3) {
      String what = args[i] + " " + args[i + 1] + " " + args[i + 2] + ": ";
      try {
        // One for each: without connections that are kept. It asks for HTTP/2 by an upgrade, as it does everywhere.
        HttpClient client = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(10)).build();
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://" + args[i + 1] + ":" + args[i + 2] + "/"))
            .timeout(Duration.ofSeconds(10)).build();
        System.out.println(what + client.send(request, BodyHandlers.ofString()).body());
      } catch (java.io.IOException e) {
        System.out.println(what + "refused");
      }
    }
  }
}
