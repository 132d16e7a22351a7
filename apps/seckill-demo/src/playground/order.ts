import type { Lease } from '../../../../libs/redis-lock/src/core/api/lease.js';
import {
  LeaseLostError,
  LockError,
  LockTimeoutError,
} from '../../../../libs/redis-lock/src/core/api/errors.js';
import type { Random } from '../../../../libs/world/src/random.js';
import type { OrderAnswered, Step } from '../arena/step.js';
import type { GatePoint } from '../seckill/gate.js';
import type { Books } from './books.js';
import type { Member } from './member.js';
import { LOCK } from './server.js';
import type { Locks, Shop } from './shop.js';
import { STRATEGIES } from './strategies.js';
import type { Experiment } from './experiment.js';

type Happening = Step extends infer S ? (S extends Step ? Omit<S, 'at'> : never) : never;

/** Each order reports to it. */
export interface Desk {
  readonly books: Books;
  readonly add: (happening: Happening) => void;
}

/** One order of one caller: the strategy, with its steps as the timeline shows them. */
export class Order {
  #hasWritten = false;

  constructor(
    private readonly member: Member,
    readonly buyer: string,
    private readonly experiment: Experiment,
    private readonly random: Random,
    private readonly desk: Desk,
  ) {}

  async run(): Promise<void> {
    const { buyer, member } = this;
    this.#passed('doors');
    const { answer, reason } = await this.#answer();
    this.desk.add({
      ...{ kind: 'answered', cell: 'run', buyer, process: member.number, tookMs: 0 },
      ...{ answer, ...(reason !== undefined && { reason }) },
    });
  }

  async #answer(): Promise<Pick<OrderAnswered, 'answer' | 'reason'>> {
    try {
      return { answer: await STRATEGIES[this.experiment.strategy](this.#shop()) };
    } catch (error) {
      // The write is done: the lock was lost after it.
      if (this.#hasWritten) return { answer: 'sold' };
      if (error instanceof LockTimeoutError) return { answer: 'busy' };
      if (error instanceof LeaseLostError) return { answer: 'refused', reason: error.reason };
      if (error instanceof LockError) return { answer: 'refused', reason: error.code };
      throw error;
    }
  }

  #passed(point: GatePoint): void {
    const { buyer, member } = this;
    this.desk.add({ kind: 'passed', cell: 'run', process: member.number, buyer, point });
  }

  #shop(): Shop {
    const { member, experiment, random } = this;
    const { process, mutex } = member;
    return {
      redis: this.#redis(),
      locks: this.#watched(member.locks),
      fairLocks: this.#watched(member.fairLocks),
      writeLocks: this.#watched(member.writeLocks),
      guard: {
        write: (token, key, command, ...args) => {
          const send = () => member.guard.write(token, key, command, ...args);
          return args[0] === 'stock' ? this.#write(send) : send();
        },
      },
      mutex,
      leaseMs: experiment.leaseMs,
      uuid: () => process.random.uuid(),
      work: () => process.sleep(experiment.workMs * (0.5 + random.next())),
    };
  }

  #redis(): Shop['redis'] {
    const { redis } = this.member;
    const locked = async <R>(answer: Promise<R>, isLocked: (reply: R) => boolean): Promise<R> => {
      const reply = await answer;
      if (isLocked(reply)) this.#passed('lock-set');
      return reply;
    };
    return {
      get: (key) => {
        if (key === 'stock') this.#passed('before-read');
        return redis.get(key);
      },
      hget: (key, field) => {
        this.#passed('before-read');
        return redis.hget(key, field);
      },
      set: (key, value, ...options) => {
        const send = () => redis.set(key, value, ...options);
        if (key === LOCK) return locked(this.#sent(send), (reply) => reply !== null);
        return this.#write(send);
      },
      setnx: (key, value) =>
        locked(
          this.#sent(() => redis.setnx(key, value)),
          (reply) => reply === 1,
        ),
      pexpire: (key, ms) => redis.pexpire(key, ms),
      del: (key) => {
        this.#passed('before-delete');
        return this.#sent(() => redis.del(key));
      },
      eval: (lua, key, ...args) => {
        this.#passed('before-delete');
        return redis.eval(lua, key, ...args);
      },
    };
  }

  /** Redis knows the caller of these commands: they decide how the run ends. */
  #sent<R>(send: () => Promise<R>): Promise<R> {
    return this.member.connection.as(this.buyer, send);
  }

  async #write<R>(send: () => Promise<R>): Promise<R> {
    this.#passed('before-write');
    const reply = await this.#sent(send);
    this.#hasWritten = true;
    this.#passed('after-write');
    return reply;
  }

  #watched(locks: Locks): Locks {
    return {
      using: (name, work, options) => {
        const watched = async (lease: Lease) => {
          this.desk.books.granted(this.buyer);
          this.#passed('lock-set');
          const result = await work(lease);
          this.#passed('before-delete');
          return result;
        };
        return locks.using(name, watched, { waitTimeMs: 60_000, ...options });
      },
    };
  }
}
