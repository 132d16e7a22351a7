import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * One Redisson client that is told what to do. A line of standard input is a call:
 * {@code {"id": 1, "thread": "A", "object": "lock", "name": "a", "method": "tryLock", "args": [500, "MILLISECONDS"]}}.
 * A line of standard output is its answer, {@code {"id": 1, "value": true}} or
 * {@code {"id": 1, "error": {"type": "…", "message": "…"}}}. The calls of one thread run one after the
 * other in a thread of that name, which is made when it is first named; only {@code isParked} is
 * answered at once. Ends with standard input.
 */
public final class Bridge {
  private static final Gson GSON = new GsonBuilder().serializeNulls().create();
  private static final PrintStream OUT =
      new PrintStream(System.out, true, StandardCharsets.UTF_8);

  private final RedissonClient redisson;
  private final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();
  private final Map<String, Thread> running = new ConcurrentHashMap<>();
  private final Map<String, Object> objects = new ConcurrentHashMap<>();

  private Bridge(RedissonClient redisson) {
    this.redisson = redisson;
  }

  /** Arguments: the url of the server and the lease that the watchdog renews, in milliseconds. */
  public static void main(String[] args) throws Exception {
    Config config = new Config();
    config.setLockWatchdogTimeout(Long.parseLong(args[1]));
    config.setThreads(4).setNettyThreads(4);
    config
        .useSingleServer()
        .setAddress(args[0])
        .setClientName("test-redisson")
        .setDnsMonitoringInterval(-1)
        .setConnectionMinimumIdleSize(1)
        .setConnectionPoolSize(8);
    new Bridge(Redisson.create(config)).serve();
  }

  private void serve() throws Exception {
    say(Map.of("client", redisson.getId()));
    var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      JsonObject call = GSON.fromJson(line, JsonObject.class);
      String thread = call.get("thread").getAsString();
      if (call.get("object").getAsString().equals("isParked")) {
        answer(call);
      } else {
        threads.computeIfAbsent(thread, this::threadOf).execute(() -> answer(call));
      }
    }
    // A thread may be waiting for a lock without end.
    Runtime.getRuntime().halt(0);
  }

  private ExecutorService threadOf(String name) {
    return Executors.newSingleThreadExecutor(
        (work) -> {
          Thread thread = new Thread(work, name);
          running.put(name, thread);
          return thread;
        });
  }

  /** Whether the thread sleeps until a message comes; not while it waits for an answer of Redis. */
  private boolean isParked(String name) {
    Thread thread = running.get(name);
    if (thread == null) return false;
    for (StackTraceElement frame : thread.getStackTrace()) {
      if (frame.getClassName().matches(".*\\.(Semaphore|ReclosableLatch)")) return true;
    }
    return false;
  }

  private void answer(JsonObject call) {
    JsonObject answer = new JsonObject();
    answer.add("id", call.get("id"));
    try {
      answer.add("value", GSON.toJsonTree(perform(call)));
    } catch (Throwable thrown) {
      Throwable error = thrown instanceof InvocationTargetException ? thrown.getCause() : thrown;
      JsonObject described = new JsonObject();
      described.addProperty("type", error.getClass().getSimpleName());
      described.addProperty("message", String.valueOf(error.getMessage()));
      answer.add("error", described);
    }
    say(answer);
  }

  private static synchronized void say(Object line) {
    OUT.println(GSON.toJson(line));
  }

  private Object perform(JsonObject call) throws Exception {
    String kind = call.get("object").getAsString();
    if (kind.equals("isParked")) return isParked(call.get("thread").getAsString());
    if (kind.equals("owner")) return redisson.getId() + ":" + Thread.currentThread().getId();
    if (kind.equals("load")) return load(call.get("method").getAsString(), call);
    // As in a Java service: an object belongs to the thread that uses it, because it keeps the lease.
    String id = call.get("thread") + " " + kind + " " + call.get("name");
    Object object = objects.get(id);
    if (object == null) objects.put(id, object = objectOf(kind, call.get("name")));
    return invoke(object, call.get("method").getAsString(), call.getAsJsonArray("args"));
  }

  /**
   * For each section of many threads, which all take the lock of this kind again and again and work in
   * it for so long, how long it was waited for, in microseconds. Arguments: threads, work, time in ms.
   */
  private List<Long> load(String kind, JsonObject call) throws Exception {
    JsonArray args = call.getAsJsonArray("args");
    long workMs = args.get(1).getAsLong();
    long end = System.nanoTime() + args.get(2).getAsLong() * 1_000_000;
    RLock lock = (RLock) objectOf(kind, call.get("name"));
    List<Long> waits = Collections.synchronizedList(new ArrayList<>());
    List<Throwable> failed = Collections.synchronizedList(new ArrayList<>());
    List<Thread> callers = new ArrayList<>();
    for (int i = 0; i < args.get(0).getAsInt(); i += 1) {
      Thread caller =
          new Thread(
              () -> {
                try {
                  while (System.nanoTime() < end) {
                    long since = System.nanoTime();
                    // A spin lock of 3.16.8 that waits until the end may be left held.
                    if (!lock.tryLock(60, TimeUnit.SECONDS)) throw new IllegalStateException("too late");
                    waits.add((System.nanoTime() - since) / 1_000);
                    if (workMs > 0) Thread.sleep(workMs);
                    lock.unlock();
                  }
                } catch (Throwable thrown) {
                  failed.add(thrown);
                }
              });
      callers.add(caller);
      caller.start();
    }
    for (Thread caller : callers) caller.join();
    if (!failed.isEmpty()) throw new IllegalStateException(failed.get(0));
    return waits;
  }

  private Object objectOf(String kind, JsonElement name) throws Exception {
    switch (kind) {
      case "readLock":
        return redisson.getReadWriteLock(name.getAsString()).readLock();
      case "writeLock":
        return redisson.getReadWriteLock(name.getAsString()).writeLock();
      case "multiLock":
        List<RLock> locks = new ArrayList<>();
        for (JsonElement each : name.getAsJsonArray()) {
          locks.add(redisson.getLock(each.getAsString()));
        }
        return redisson.getMultiLock(locks.toArray(new RLock[0]));
      default:
        // By name, because a kind need not be there in every version.
        String factory = "get" + Character.toUpperCase(kind.charAt(0)) + kind.substring(1);
        return RedissonClient.class.getMethod(factory, String.class).invoke(redisson, name.getAsString());
    }
  }

  private static Object invoke(Object object, String name, JsonArray args) throws Exception {
    for (Method method : object.getClass().getMethods()) {
      if (!method.getName().equals(name)) continue;
      Object[] values = valuesFor(method.getParameterTypes(), args);
      if (values == null) continue;
      method.setAccessible(true);
      return method.invoke(object, values);
    }
    throw new NoSuchMethodException(name + args);
  }

  /** The arguments as these types, or null when they do not fit. */
  private static Object[] valuesFor(Class<?>[] types, JsonArray args) {
    if (types.length != args.size()) return null;
    Object[] values = new Object[types.length];
    for (int i = 0; i < types.length; i += 1) {
      values[i] = valueFor(types[i], args.get(i));
      if (values[i] == null) return null;
    }
    return values;
  }

  private static Object valueFor(Class<?> type, JsonElement arg) {
    if (arg.isJsonArray()) {
      return Collection.class.isAssignableFrom(type) ? GSON.fromJson(arg, type) : null;
    }
    boolean isNumber = arg.getAsJsonPrimitive().isNumber();
    if (type == long.class && isNumber) return arg.getAsLong();
    if (type == int.class && isNumber) return arg.getAsInt();
    if (type == String.class && !isNumber) return arg.getAsString();
    if (type == TimeUnit.class && !isNumber) return TimeUnit.valueOf(arg.getAsString());
    return null;
  }
}
