import { inspect } from 'node:util';

import { LeaseLostError } from '../../core/api/errors.js';
import type { Lease } from '../../core/api/lease.js';
import type { HeldLease, ScopedLease } from '../../core/holding/held-lease.js';

/** Leases that were granted together, and are lost, renewed and released together. */
export interface MultiLease extends Lease {
  /** One for each lock, in the order of acquisition. Each has its own fencing token. */
  readonly leases: readonly Lease[];
}

export class HeldMultiLease implements MultiLease, ScopedLease {
  readonly fencingToken = undefined;
  #abort: AbortController | undefined;

  constructor(readonly leases: readonly Lease[]) {}

  get name(): string {
    return this.leases.map(({ name }) => name).join(', ');
  }

  get owner(): string {
    return this.leases.map(({ owner }) => owner).join(',');
  }

  get holdCount(): number {
    return Math.min(...this.leases.map(({ holdCount }) => holdCount));
  }

  /** The leases that work inside may join. Leases of another library's locks cannot be joined. */
  get members(): readonly HeldLease[] {
    return this.leases.flatMap((lease) => (lease as Partial<ScopedLease>).members ?? []);
  }

  /** The worst state of its leases. */
  get state(): Lease['state'] {
    const states = this.leases.map(({ state }) => state);
    const worst = (['lost', 'released', 'suspect'] as const).find((state) =>
      states.includes(state),
    );
    return worst ?? 'held';
  }

  get remainingMs(): number {
    return Math.min(...this.leases.map(({ remainingMs }) => remainingMs));
  }

  get signal(): AbortSignal {
    this.#abort ??= this.#abortWithFirst();
    return this.#abort.signal;
  }

  assertHeld(): void {
    const errors: unknown[] = [];
    // All leases: each that is overdue is renewed.
    for (const lease of this.leases) {
      try {
        lease.assertHeld();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  async renew(leaseTimeMs?: number): Promise<void> {
    await allOf(this.leases.map((lease) => lease.renew(leaseTimeMs)));
  }

  async release(): Promise<void> {
    await allOf(this.leases.toReversed().map((lease) => lease.release()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release().catch(() => undefined);
  }

  toJSON() {
    const { name, state, holdCount, remainingMs } = this;
    return { name, state, holdCount, remainingMs };
  }

  [inspect.custom]() {
    return this.toJSON();
  }

  #abortWithFirst(): AbortController {
    const abort = new AbortController();
    for (const { signal } of this.leases) {
      const tell = () => {
        abort.abort(signal.reason);
      };
      if (signal.aborted) tell();
      else signal.addEventListener('abort', tell, { once: true });
    }
    return abort;
  }
}

/** Waits for all of them, even if some fail. A loss counts more than an error of the connection. */
async function allOf(steps: readonly Promise<void>[]): Promise<void> {
  const errors: unknown[] = [];
  for (const outcome of await Promise.allSettled(steps)) {
    if (outcome.status === 'rejected') errors.push(outcome.reason);
  }
  if (errors.length > 0) throw errors.find((error) => error instanceof LeaseLostError) ?? errors[0];
}
