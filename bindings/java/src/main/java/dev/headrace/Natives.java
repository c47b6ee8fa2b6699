package dev.headrace;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * The native files of the jar for this machine. They are extracted into a folder that belongs to
 * the user alone and is named by their contents, so that processes share it and versions do not
 * meet: below the folder that the system property {@code headrace.extract.path} names, else below
 * {@code java.io.tmpdir}.
 */
final class Natives {
  static final String EXTRACT_PROPERTY = "headrace.extract.path";
  private static final Set<PosixFilePermission> OURS = PosixFilePermissions.fromString("rwx------");

  private final String base;
  /** The SHA-256 of each file by its name. */
  private final Map<String, String> files;

  private Natives(String base, Map<String, String> files) {
    this.base = base;
    this.files = files;
  }

  /** Returns the natives of this machine; none if the jar has none for it. */
  static Natives ofThisJar() {
    String base = "/dev/headrace/natives/" + platform() + "/";
    try (InputStream index = Natives.class.getResourceAsStream(base + "index")) {
      return new Natives(base, index == null ? Map.of() : readIndex(index));
    } catch (IOException e) {
      throw new HeadraceException.Unavailable("the jar cannot be read: " + e.getMessage(), e);
    }
  }

  /** Returns this machine's system and processor, such as linux-x86_64. */
  static String platform() {
    String processor = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
    String name = processor.equals("amd64") ? "x86_64" : processor;
    return System.getProperty("os.name").toLowerCase(Locale.ROOT).replace(' ', '-') + "-" + name;
  }

  boolean has(String name) {
    return files.containsKey(name);
  }

  void extractAll() throws IOException {
    for (String name : files.keySet()) extract(name);
  }

  /** Returns the path of a file, which is written if it is not there. */
  Path extract(String name) throws IOException {
    if (!has(name)) {
      throw new IOException("there is no " + name + " for " + platform() + " in it");
    }
    Path path = folder().resolve(name);
    if (!Files.exists(path)) write(name, path);
    return path;
  }

  private void write(String name, Path path) throws IOException {
    Path part = Files.createTempFile(path.getParent(), name, ".part");
    try (InputStream from = Natives.class.getResourceAsStream(base + name)) {
      Files.copy(from, part, StandardCopyOption.REPLACE_EXISTING);
      Files.move(part, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } finally {
      Files.deleteIfExists(part);
    }
  }

  private Path folder() throws IOException {
    String root = System.getProperty(EXTRACT_PROPERTY, System.getProperty("java.io.tmpdir"));
    Files.createDirectories(Path.of(root));
    String user = System.getProperty("user.name").replace('/', '_');
    String contents = Integer.toHexString(files.hashCode());
    return own(own(Path.of(root, "headrace-" + user)).resolve(contents)).toAbsolutePath();
  }

  /** Makes a folder, or sees that nobody else can put files into the one that is there. */
  private static Path own(Path folder) throws IOException {
    try {
      return Files.createDirectory(folder, PosixFilePermissions.asFileAttribute(OURS));
    } catch (FileAlreadyExistsException e) {
      boolean ours = Files.getOwner(folder, LinkOption.NOFOLLOW_LINKS).getName()
          .equals(System.getProperty("user.name"));
      if (ours && Files.getPosixFilePermissions(folder, LinkOption.NOFOLLOW_LINKS).equals(OURS)) {
        return folder;
      }
      throw new IOException(folder + " must be a folder of this user alone (mode 700); set the"
          + " system property " + EXTRACT_PROPERTY + " to another place");
    }
  }

  /** Reads lines of a SHA-256, two spaces and a name, as sha256sum writes them. */
  private static Map<String, String> readIndex(InputStream index) throws IOException {
    Map<String, String> out = new LinkedHashMap<>();
    BufferedReader lines = new BufferedReader(new InputStreamReader(index, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] parts = line.split("  ", 2);
      out.put(parts[1], parts[0]);
    }
    return out;
  }
}
