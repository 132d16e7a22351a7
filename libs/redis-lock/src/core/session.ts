import { resolveSettings, type LockSettings } from './api/settings.js';
import { Background } from './redis/background.js';
import { ANSWER_MS, type RedisConnection, type Reply } from './redis/connection.js';
import { answerWithin } from './redis/retry.js';
import { KeySpace } from './redis/key-names.js';
import { systemClock, type Clock } from './time/clock.js';
import { systemRandom, type Random } from './time/random.js';
import { TimerHeap } from './time/timer-heap.js';

const NONCE_BYTES = 8;
/** The length of `client`. */
const CLIENT = 'xxxxxxxx-xxxx'.length;
/** The random bytes of a permit's id. */
const PERMIT_BYTES = 10;

/**
 * Shared by everything on one connection: its identity in Redis, its settings, its clocks and its
 * randomness.
 */
export class Session {
  readonly settings: LockSettings;
  readonly keys: KeySpace;
  readonly times: TimerHeap;
  /** Requests that are repeated after their caller has left. */
  readonly background: Background;
  /** Identifies this client among all that share a Redis. */
  readonly id: string;
  /** The beginning of `id`, which operators may see: no owner can be guessed from it. */
  readonly client: string;
  private readonly permitMark: string;
  private lastOwner = 0;
  private readonly mark: string;
  /** Random bytes for nonces, made in bulk. */
  private readonly nonces = Buffer.alloc(64 * NONCE_BYTES);
  private nonceAt = this.nonces.length;

  constructor(
    readonly connection: RedisConnection,
    settings: Partial<LockSettings> = {},
    readonly clock: Clock = systemClock,
    readonly random: Random = systemRandom,
  ) {
    this.id = random.uuid();
    this.client = this.id.slice(0, CLIENT);
    this.permitMark = this.client.replace('-', '');
    this.mark = this.digits(NONCE_BYTES);
    this.settings = resolveSettings(settings);
    this.keys = new KeySpace(this.settings.keyPrefix);
    this.times = new TimerHeap(clock);
    this.background = new Background(this);
  }

  /**
   * Every acquisition that joins no hold is a new owner. The owner is never the process or the
   * async chain.
   */
  newOwner(): string {
    return `${this.id}:${String(++this.lastOwner)}`;
  }

  /**
   * 32 hexadecimal digits. 16 mark this session; 16 are random, so that no other client can guess
   * them.
   */
  newNonce(): string {
    if (this.nonceAt === this.nonces.length) {
      this.random.fill(this.nonces);
      this.nonceAt = 0;
    }
    const from = this.nonceAt;
    this.nonceAt += NONCE_BYTES;
    return this.mark + this.nonces.toString('hex', from, this.nonceAt);
  }

  isOurNonce(nonce: string): boolean {
    return nonce.startsWith(this.mark);
  }

  /** Unique names of 32 hexadecimal digits: the 12 of the client, and 10 random bytes. */
  newIds(count: number): string[] {
    const digits = this.digits(PERMIT_BYTES * count);
    const ids: string[] = [];
    for (let from = 0; from < digits.length; from += 2 * PERMIT_BYTES) {
      ids.push(this.permitMark + digits.slice(from, from + 2 * PERMIT_BYTES));
    }
    return ids;
  }

  /** Two hexadecimal digits for each random byte. */
  private digits(byteCount: number): string {
    const bytes = Buffer.alloc(byteCount);
    this.random.fill(bytes);
    return bytes.toString('hex');
  }
}

/**
 * Resolves with the answer to a request, which is repeated until Redis answers.
 * @throws {LockBackendError} Redis did not answer in time, or refused
 */
export async function askOnce<R>(
  session: Session,
  name: string,
  question: (key: string) => Promise<Reply<R>>,
): Promise<R> {
  const key = session.keys.key(name);
  return (await answerWithin(ANSWER_MS, session, name, () => question(key))).value;
}
