import org.redisson.Redisson;
import org.redisson.api.RBucket;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

public final class Main {
  public static void main(String[] args) throws InterruptedException {
    Config config = new Config();
    config.useSingleServer().setAddress(System.getenv("REDIS_URL"));
    RedissonClient redisson = Redisson.create(config);
    System.out.println("is connected");

    // Both begin at the same time.
    RCountDownLatch opening = redisson.getCountDownLatch("opening");
    opening.trySetCount(2);
    opening.countDown();
    opening.await();

    RLock lock = redisson.getLock("product_1");
    RBucket<String> pieces = redisson.getBucket("pieces", StringCodec.INSTANCE);
    boolean hasSold;
    do {
      lock.lock();
      try {
        hasSold = sell(pieces);
      } finally {
        lock.unlock();
      }
      Thread.sleep(20);
    } while (hasSold);
    redisson.shutdown();
  }

  /** Sells one piece; false when none is left. */
  private static boolean sell(RBucket<String> pieces) throws InterruptedException {
    int left = Integer.parseInt(pieces.get()) - 1;
    if (left < 0) return false;
    Thread.sleep(50); // your work
    pieces.set(String.valueOf(left)); // right only if Node has not written meanwhile
    System.out.println("sells one, " + left + " left");
    return true;
  }
}
