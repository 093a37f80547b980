package io.bandana;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.util.Collection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;

/** Sockets that believe the authorities of a PEM file, and no others. */
final class Authorities {
  static SSLSocketFactory of(String path) {
    try {
      KeyStore believed = KeyStore.getInstance(KeyStore.getDefaultType());
      believed.load(null, null);
      for (Certificate one : read(path)) believed.setCertificateEntry("ca" + believed.size(), one);
      TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trust.init(believed);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, trust.getTrustManagers(), null);
      return context.getSocketFactory();
    } catch (GeneralSecurityException | IOException why) {
      throw invalid(path, "no TLS: " + why.getMessage());
    }
  }

  private static Collection<? extends Certificate> read(String path) {
    try (InputStream in = Files.newInputStream(Path.of(path))) {
      Collection<? extends Certificate> found = CertificateFactory.getInstance("X.509").generateCertificates(in);
      if (found.isEmpty()) throw invalid(path, "has no certificate");
      return found;
    } catch (CertificateException why) {
      throw invalid(path, "is no PEM file of certificates");
    } catch (IOException why) {
      throw invalid(path, "cannot be read");
    }
  }

  private static BandanaException invalid(String path, String why) {
    return new BandanaException(BandanaException.Status.INVALID_ARGUMENT, "caFile: " + path + " " + why);
  }

  private Authorities() {}
}
