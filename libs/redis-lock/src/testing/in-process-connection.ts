import { LockBackendError, LockStateError } from '../core/api/errors.js';
import type {
  ChannelListener,
  KeyPlace,
  RedisConnection,
  Reply,
} from '../core/redis/connection.js';
import type { Script } from '../core/redis/script.js';
import type { Answer, LockOperation } from './answers.js';
import { COUNT_ANSWERS } from './count-answers.js';
import { FAIR_LOCK_ANSWERS } from './fair-lock-answers.js';
import { INSPECT_ANSWERS } from './inspect-answers.js';
import type { InProcessServer } from './in-process-server.js';
import { LOCK_ANSWERS } from './lock-answers.js';
import { PERMIT_ANSWERS } from './permit-answers.js';
import { READ_WRITE_ANSWERS } from './read-write-answers.js';

/** The answers of the server, by script. */
export const ANSWERS: ReadonlyMap<unknown, Answer> = new Map(
  [
    ...LOCK_ANSWERS,
    ...FAIR_LOCK_ANSWERS,
    ...READ_WRITE_ANSWERS,
    ...PERMIT_ANSWERS,
    ...COUNT_ANSWERS,
    ...INSPECT_ANSWERS,
  ].map((answer) => [answer.script, answer]),
);

const HERE: KeyPlace = { node: '', slot: 0 };

/** A client of a server in this process. It loses no request and no message. */
export class InProcessConnection implements RedisConnection {
  readonly topology = 'server';
  isUp = true;

  /** The error of an operation that a test lets fail. */
  failure: (operation: LockOperation) => Error | undefined = () => undefined;

  constructor(readonly server: InProcessServer) {}

  open(): void {}

  async run<K extends string, A extends string, R>(
    script: Script<K, A, R>,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<Reply<R>> {
    if (!this.isUp) {
      const over = { retryable: false, outcome: 'none' } as const;
      throw new LockBackendError('the connection is closed', over);
    }
    const answer = ANSWERS.get(script);
    if (answer === undefined) {
      throw new LockStateError(`Without Redis the script ${script.name} has no answer`);
    }
    const { operation } = answer;
    const failure = operation === undefined ? undefined : this.failure(operation);
    if (failure !== undefined) throw failure;
    const sentAt = this.server.now;
    const value = answer.run(this.server, keys, args) as R;
    // Like any answer, it arrives later.
    await Promise.resolve();
    return { value, sentAt, resent: false };
  }

  listen(channel: string, listener: ChannelListener): () => void {
    return this.server.listen(channel, listener);
  }

  /** The connection is up from the beginning: the listener is never called. */
  onUp(): () => void {
    return () => undefined;
  }

  place(): KeyPlace {
    return HERE;
  }

  close(): Promise<void> {
    this.isUp = false;
    return Promise.resolve();
  }
}
